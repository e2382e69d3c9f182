// casemate/core/utf8.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace casemate {

inline constexpr char32_t kInvalidCodePoint = 0xFFFFFFFF;

/// One code point read from UTF-8: its value (`kInvalidCodePoint` for a broken sequence) and how many bytes it took
/// (at least 1 unless the text is at its end; a broken sequence takes its maximal valid prefix, as Unicode recommends).
struct CodePoint {
  char32_t value = kInvalidCodePoint;
  std::size_t length = 0;
};

/// Reads the code point at byte `at` of `text`; `at` must be below text.size(). Overlong forms, surrogates and values
/// above U+10FFFF are broken sequences.
[[nodiscard]] CodePoint read_code_point(std::string_view text, std::size_t at) noexcept;
/// Appends `value` as UTF-8; values that are no scalar become U+FFFD.
void append_code_point(std::string& out, char32_t value);
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;
/// Number of broken sequences in `text`.
[[nodiscard]] std::size_t count_invalid_utf8(std::string_view text) noexcept;
/// Code points of `text`; each broken sequence counts as one.
[[nodiscard]] std::size_t count_code_points(std::string_view text) noexcept;
/// `text` with each broken sequence replaced by U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);
/// The longest prefix of at most `max_bytes` bytes that ends between code points.
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t max_bytes) noexcept;

/// Characters that show nothing or reorder what is shown: zero-width, bidirectional controls, tags, variation
/// selectors, soft hyphen, fillers.
[[nodiscard]] bool is_invisible(char32_t value) noexcept;
/// Bidirectional control characters only (a subset of `is_invisible`).
[[nodiscard]] bool is_bidi_control(char32_t value) noexcept;
/// C0 and C1 controls and DEL.
[[nodiscard]] bool is_control(char32_t value) noexcept;

}  // namespace casemate
