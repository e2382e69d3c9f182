#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// The bytes of src/text/tagger/english_tagger.bin, which are part of the library.
[[nodiscard]] std::string_view english_tagger_bytes() noexcept;

/// One record of a table of strings: its fields, views of the file's bytes.
using TaggerRecord = std::vector<std::string_view>;

/// The sections of a tagger file (format: tools/make_english_tagger.py). Views of bytes that must outlive it.
class TaggerFile {
 public:
  /// Error: Corrupt for another magic, version or checksum, or sections outside the bytes.
  [[nodiscard]] static Result<TaggerFile> open(std::string_view bytes);

  /// Error: Corrupt where there is no such section.
  [[nodiscard]] Result<std::string_view> section(std::string_view name) const;
  /// Error: Corrupt where it has another size.
  [[nodiscard]] Result<std::string_view> section(std::string_view name, std::size_t bytes) const;
  [[nodiscard]] Result<std::vector<float>> floats(std::string_view name, std::size_t count) const;
  /// Error: Corrupt where a record has fewer than `fields` fields.
  [[nodiscard]] Result<std::vector<TaggerRecord>> table(std::string_view name, std::size_t fields) const;

 private:
  std::unordered_map<std::string_view, std::string_view> sections_;
};

/// A set of code points.
class CharacterClass {
 public:
  /// Of a section with pairs of first and last code point, ascending.
  [[nodiscard]] static Result<CharacterClass> read(const TaggerFile& file, std::string_view section);
  [[nodiscard]] bool contains(char32_t value) const noexcept;

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };
  std::vector<Range> ranges_;
  std::array<bool, 128> ascii_{};
};

}  // namespace casemate
