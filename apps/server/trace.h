// W3C trace context (traceparent), so that a request can be followed through several services.
#pragma once

#include <string>
#include <string_view>

namespace casemate::server {

/// The trace id of a `traceparent` header, or a new random one where it is absent or malformed. 32 hexadecimal digits.
[[nodiscard]] std::string trace_id_of(std::string_view traceparent);

}  // namespace casemate::server
