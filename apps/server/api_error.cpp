#include "api_error.h"

#include <nlohmann/json.hpp>

#include "casemate/core/untrusted_text.h"

namespace casemate::server {
namespace {

using Json = nlohmann::ordered_json;

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidOption:
    case ErrorCode::kInvalidInput:
    case ErrorCode::kUnsupported:
    case ErrorCode::kLimit:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kMismatch:
      return 409;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
    case ErrorCode::kCancelled:
      return 504;
    case ErrorCode::kNoSpace:
      return 507;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kPermission:
    case ErrorCode::kModel:
      return 500;
  }
  return 500;
}

}  // namespace

std::string_view role_name(Role role) noexcept {
  switch (role) {
    case Role::kReader:
      return "reader";
    case Role::kWriter:
      return "writer";
    case Role::kAdmin:
      return "admin";
  }
  return "reader";
}

ApiError api_error(const Error& error) {
  ApiError out;
  out.status = status_of(error.code);
  out.code = error_code_name(error.code);
  if (out.status < 500) {
    out.message = UntrustedText(error.message).for_json();
    return out;
  }
  out.type = "server_error";
  if (error.code == ErrorCode::kCancelled || error.code == ErrorCode::kTimeout) {
    out.message = "the request took longer than this server allows";
  } else if (error.code == ErrorCode::kNoSpace) {
    out.message = "the server's disk is full";
  } else if (error.code == ErrorCode::kUnavailable) {
    out.message = "something that this server needs does not answer now; try again later";
  } else {
    out.message = "the server failed at this request; its log says why, under the trace id";
  }
  return out;
}

std::string error_json(const ApiError& error) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const Json body = {{"error",
                      {{"message", error.message},
                       {"type", error.type},
                       {"param", or_null(error.param)},
                       {"code", or_null(error.code)}}}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Response error_response(const ApiError& error) {
  Response response;
  response.status = error.status;
  response.body = error_json(error);
  if (error.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response error_response(const Error& error) { return error_response(api_error(error)); }

ApiError not_found(std::string message) { return {404, "invalid_request_error", "not_found", std::move(message)}; }
ApiError too_large(std::string message) { return {413, "invalid_request_error", "too_large", std::move(message)}; }
ApiError overloaded(std::string message) { return {503, "server_error", "overloaded", std::move(message)}; }

}  // namespace casemate::server
