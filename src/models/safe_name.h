// models/safe_name.h
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace casemate {

inline bool is_lower_or_digit(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
inline bool is_letter_or_digit(char c) noexcept { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }
inline bool is_one_of(char c, std::string_view set) noexcept { return set.find(c) != std::string_view::npos; }

/// What may be the name of a folder in the store. A leading dot is for our own files.
inline bool is_model_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && is_lower_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || is_one_of(c, "._-"); });
}

/// A relative path of at most 4 plain parts, none of which leads upwards or is hidden.
inline bool is_safe_path(std::string_view path) noexcept {
  if (path.empty() || path.size() > 255) return false;
  std::size_t parts = 0;
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part.front() == '.' || part.front() == '-' || ++parts > 4) return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) { return is_letter_or_digit(c) || is_one_of(c, "._-+"); })) {
      return false;
    }
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

/// A safe path that does not look like one of the store's own files.
inline bool is_safe_file_name(std::string_view path) noexcept {
  return is_safe_path(path) && !path.ends_with(".part") && path != "casemate-model.json";
}

/// "name==version": nothing that pip could take for an option, an address or a range.
inline bool is_pinned_package(std::string_view text) noexcept {
  const std::size_t equals = text.find("==");
  if (equals == std::string_view::npos || equals == 0 || text.size() > 200) return false;
  const std::string_view name = text.substr(0, equals);
  const std::string_view version = text.substr(equals + 2);
  const auto plain = [](std::string_view part, std::string_view also) {
    return !part.empty() && is_letter_or_digit(part.front()) &&
           std::all_of(part.begin(), part.end(), [&](char c) { return is_letter_or_digit(c) || is_one_of(c, also); });
  };
  return plain(name, "._-") && plain(version, "._+!-");
}

inline bool is_sha256(std::string_view text) noexcept {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace casemate
