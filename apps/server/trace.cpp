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

std::string random_hex(std::size_t bytes) {
  const std::string random = random_bytes(bytes);
  return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(random.data()), random.size()));
}

bool is_id(std::string_view text) {
  return is_lower_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

TraceContext trace_context_of(std::string_view traceparent) {
  // version "-" trace-id "-" parent-id "-" flags; a later version may be longer.
  const bool shaped = traceparent.size() >= 55 && traceparent[2] == '-' && traceparent[35] == '-' &&
                      traceparent[52] == '-' && is_lower_hex(traceparent.substr(0, 2)) &&
                      is_id(traceparent.substr(3, 32)) && traceparent.substr(0, 2) != "ff";
  if (!shaped) return {random_hex(16)};
  TraceContext out{std::string(traceparent.substr(3, 32))};
  const std::string_view parent = traceparent.substr(36, 16);
  const std::string_view flags = traceparent.substr(53, 2);
  if (!is_id(parent) || !is_lower_hex(flags)) return out;
  out.parent = std::string(parent);
  out.sampled = std::string_view("13579bdf").find(flags[1]) != std::string_view::npos;
  return out;
}

std::string new_span_id() { return random_hex(8); }

}  // namespace casemate::server
