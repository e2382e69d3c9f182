#include "trace.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "casemate/core/hash.h"
#include "casemate/core/signing.h"

namespace casemate::server {
namespace {

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string trace_id_of(std::string_view traceparent) {
  // version "-" trace-id "-" parent-id "-" flags; a later version may be longer.
  const bool shaped = traceparent.size() >= 55 && traceparent[2] == '-' && traceparent[35] == '-' &&
                      traceparent[52] == '-' && is_lower_hex(traceparent.substr(0, 2)) &&
                      is_lower_hex(traceparent.substr(3, 32)) && traceparent.substr(0, 2) != "ff";
  if (shaped && traceparent.substr(3, 32).find_first_not_of('0') != std::string_view::npos)
    return std::string(traceparent.substr(3, 32));
  const std::string random = random_bytes(16);
  return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(random.data()), random.size()));
}

}  // namespace casemate::server
