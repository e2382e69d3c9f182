#include "casemate/core/utf8.h"

namespace casemate {
namespace {

bool is_continuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

}  // namespace

CodePoint read_code_point(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {kInvalidCodePoint, 1};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (left < 2 || byte(1) < low || byte(1) > high) return {kInvalidCodePoint, 1};
  char32_t value = length == 2 ? lead & 0x1FU : length == 3 ? lead & 0x0FU : lead & 0x07U;
  value = (value << 6U) | (byte(1) & 0x3FU);
  for (std::size_t i = 2; i < length; ++i) {
    if (i >= left || !is_continuation(byte(i))) return {kInvalidCodePoint, i};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  return {value, length};
}

void append_code_point(std::string& out, char32_t value) {
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) value = 0xFFFD;
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0U | (value >> 6U));
    put(0x80U | (value & 0x3FU));
  } else if (value < 0x10000) {
    put(0xE0U | (value >> 12U));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  } else {
    put(0xF0U | (value >> 18U));
    put(0x80U | ((value >> 12U) & 0x3FU));
    put(0x80U | ((value >> 6U) & 0x3FU));
    put(0x80U | (value & 0x3FU));
  }
}

std::size_t count_invalid_utf8(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    if (point.value == kInvalidCodePoint) ++count;
    at += point.length;
  }
  return count;
}

bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    if (point.value == kInvalidCodePoint) return false;
    at += point.length;
  }
  return true;
}

std::size_t count_code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += read_code_point(text, at).length) ++count;
  return count;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    if (point.value == kInvalidCodePoint) {
      append_code_point(out, 0xFFFD);
    } else {
      out.append(text.substr(at, point.length));
    }
    at += point.length;
  }
  return out;
}

std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  for (int back = 0; back < 3 && end > 0 && is_continuation(static_cast<unsigned char>(text[end])); ++back) --end;
  return text.substr(0, end);
}

bool is_bidi_control(char32_t value) noexcept {
  return value == 0x061C || value == 0x200E || value == 0x200F || (value >= 0x202A && value <= 0x202E) ||
         (value >= 0x2066 && value <= 0x2069);
}

bool is_invisible(char32_t value) noexcept {
  return is_bidi_control(value) || value == 0x00AD || value == 0x034F || value == 0x115F || value == 0x1160 ||
         value == 0x17B4 || value == 0x17B5 || (value >= 0x180B && value <= 0x180F) ||
         (value >= 0x200B && value <= 0x200D) || (value >= 0x2060 && value <= 0x2065) ||
         (value >= 0x206A && value <= 0x206F) || value == 0x3164 || (value >= 0xFE00 && value <= 0xFE0F) ||
         value == 0xFEFF || value == 0xFFA0 || (value >= 0xFFF9 && value <= 0xFFFB) ||
         (value >= 0x1BCA0 && value <= 0x1BCA3) || (value >= 0x1D173 && value <= 0x1D17A) ||
         (value >= 0xE0000 && value <= 0xE0FFF);
}

bool is_control(char32_t value) noexcept { return value < 0x20 || (value >= 0x7F && value <= 0x9F); }

}  // namespace casemate
