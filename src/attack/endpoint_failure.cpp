#include "attack/endpoint_failure.h"

#include <charconv>

namespace casemate {
namespace {

std::optional<std::chrono::milliseconds> retry_after(const std::string& text) {
  int seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, seconds);
  if (problem != std::errc() || rest != end || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

std::string without_secrets(std::string text, const EndpointAdapter& adapter) {
  for (const auto& [variable, secret] : adapter.secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), "${" + variable + "}");
      at += variable.size() + 3;
    }
  }
  return text;
}

EndpointFailure refusal(const HttpResponse& response, const EndpointAdapter& adapter) {
  const int status = response.head.status;
  EndpointFailure out;
  std::string said = UntrustedText(without_secrets(response.body.substr(0, 400), adapter)).for_log(160);
  said = "answered " + std::to_string(status) + (said.empty() ? "" : ": " + said);
  if (status / 100 == 3) {
    out.error = {ErrorCode::kInvalidArgument,
                 "answered " + std::to_string(status) + ", a redirect to " +
                     UntrustedText(response.head.location.empty() ? "nowhere" : response.head.location).for_log() +
                     "; redirects are not followed, so give the address that is meant"};
    return out;
  }
  ErrorCode code = ErrorCode::kUnavailable;
  if (status == 401 || status == 403) code = ErrorCode::kPermission;
  if (status == 404 || status == 405 || status == 410) code = ErrorCode::kNotFound;
  if (status == 400 || status == 413 || status == 415 || status == 422) code = ErrorCode::kInvalidInput;
  out.error = {code, said};
  out.may_retry = status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
  out.wait = retry_after(response.head.retry_after);
  // A proxy gives up (502, 504) while the system behind it goes on; one that names a time has turned the request away.
  const bool turned_away = status == 501 || (status == 503 && out.wait);
  out.is_unclear = status == 408 || (status >= 500 && !turned_away);
  return out;
}

}  // namespace casemate
