#include "models/https_download.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "net/url.h"

namespace casemate {
namespace {

constexpr int kMaxRedirects = 5;
constexpr int kMaxFruitlessTries = 3;

/// "bytes 5-9/10"
struct ContentRange {
  std::uint64_t begin = 0;
  std::uint64_t total = 0;
};

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const auto number = [&text](char after) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (after == '\0') return text.empty() ? std::optional(value) : std::nullopt;
    if (text.empty() || text.front() != after) return std::nullopt;
    text.remove_prefix(1);
    return value;
  };
  const auto begin = number('-');
  const auto end = begin ? number('/') : std::nullopt;
  const auto total = end ? number('\0') : std::nullopt;
  if (!total || *end < *begin || *total <= *end) return std::nullopt;
  return ContentRange{*begin, *total};
}

Error wrong_size(std::uint64_t found, std::uint64_t expected) {
  return {ErrorCode::kMismatch,
          "the file there has " + std::to_string(found) + " bytes, expected " + std::to_string(expected)};
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Makes the part agree with what the response's body will be: its rest, or the whole file again.
Status begin_body(const HttpHead& head, std::uint64_t bytes, PartFile& part) {
  if (head.status == 206) {
    const std::optional<ContentRange> range = parse_content_range(head.content_range);
    if (!range || range->begin != part.size()) {
      return Error{ErrorCode::kUnavailable, "answered with another range than the one asked for"};
    }
    if (range->total != bytes) return wrong_size(range->total, bytes);
    return {};
  }
  if (head.status == 416) return Error{ErrorCode::kMismatch, "the file there is shorter than what is here already"};
  if (head.status >= 400 && head.status < 500 && head.status != 408 && head.status != 429) {
    return Error{ErrorCode::kNotFound, "answered with status " + std::to_string(head.status)};
  }
  if (head.status != 200) {
    return Error{ErrorCode::kUnavailable, "answered with status " + std::to_string(head.status)};
  }
  if (head.content_length && *head.content_length != bytes) return wrong_size(*head.content_length, bytes);
  return part.size() > 0 ? part.clear() : Status();
}

Status receive(HttpConnection& connection, std::uint64_t bytes, PartFile& part,
               const std::function<void(std::uint64_t)>& on_bytes) {
  while (true) {
    const Result<std::string_view> piece = connection.read();
    if (!piece) return piece.error();
    if (piece->empty()) break;
    if (Status kept = part.append(*piece); !kept) return kept;
    on_bytes(part.size());
  }
  if (part.size() != bytes) return wrong_size(part.size(), bytes);
  return {};
}

/// One try: from the address through redirects to the end of the body.
Status fetch_once(Url url, std::uint64_t bytes, PartFile& part, const HttpOptions& options, const std::stop_token& stop,
                  const std::function<void(std::uint64_t)>& on_bytes) {
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    Result<HttpConnection> connection = HttpConnection::open(url, options, stop);
    if (!connection) return connection.error();
    HttpRequest request;
    request.url = url;
    request.headers = {{"User-Agent", "casemate"}, {"Accept-Encoding", "identity"}};
    if (part.size() > 0) request.headers.emplace_back("Range", "bytes=" + std::to_string(part.size()) + "-");
    const Result<HttpHead> head = connection->send(request);
    if (!head) return head.error();
    if (!is_redirect(head->status)) {
      if (Status begun = begin_body(*head, bytes, part); !begun) return begun;
      return receive(*connection, bytes, part, on_bytes);
    }
    Result<Url> next = resolve_redirect(url, head->location);
    if (!next) return Error{ErrorCode::kUnavailable, "redirects to where it must not: " + next.error().message};
    url = *std::move(next);
  }
  return Error{ErrorCode::kUnavailable, "redirects more than " + std::to_string(kMaxRedirects) + " times"};
}

}  // namespace

Status download(const std::string& address, std::uint64_t bytes, PartFile& part, const HttpOptions& options,
                const std::stop_token& stop, const std::function<void(std::uint64_t)>& on_bytes) {
  const Result<Url> url = parse_https_url(address);
  if (!url) return url.error();
  int fruitless = 0;
  bool gained = false;
  while (part.size() < bytes) {
    const std::uint64_t before = part.size();
    const Status tried = fetch_once(*url, bytes, part, options, stop, on_bytes);
    if (tried.ok()) break;
    gained = gained || part.size() > before;
    fruitless = part.size() > before ? 0 : fruitless + 1;
    const bool broke_off = tried.error().code == ErrorCode::kUnavailable || tried.error().code == ErrorCode::kTimeout;
    // A source that gives nothing at the first try is not there: the caller has others.
    if (!broke_off || !gained || fruitless >= kMaxFruitlessTries) return tried.error().in(address);
  }
  return {};
}

}  // namespace casemate
