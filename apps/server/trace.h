// W3C trace context (traceparent), so that a request can be followed through several services.
#pragma once

#include <string>
#include <string_view>

namespace casemate::server {

struct TraceContext {
  std::string trace_id;  ///< 32 hexadecimal digits
  std::string parent{};  ///< the caller's span, 16 digits; empty where there is none
  bool sampled = true;   ///< false where the caller says that it keeps no trace
};

/// What a `traceparent` header says, or a new random trace where it is absent or malformed.
[[nodiscard]] TraceContext trace_context_of(std::string_view traceparent);
[[nodiscard]] std::string new_span_id();  ///< 16 hexadecimal digits, random

}  // namespace casemate::server
