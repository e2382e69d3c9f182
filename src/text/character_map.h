// src/text/character_map.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// sentencepiece's precompiled normalisation: a double-array trie from byte strings to replacement strings.
/// Walks are bounds-checked, so a damaged map gives wrong text at worst.
class CharacterMap {
 public:
  CharacterMap() = default;
  /// `blob`: a little-endian trie size, the trie, the NUL-terminated replacements. Empty: maps nothing.
  /// Error: InvalidInput.
  [[nodiscard]] static Result<CharacterMap> parse(std::string_view blob);

  /// The replacement of the shortest prefix of `text` that the map knows, or null.
  /// (Shortest, not longest: what Hugging Face's implementation does.)
  [[nodiscard]] const char* find(std::string_view text) const;
  [[nodiscard]] bool empty() const { return trie_.empty(); }

 private:
  std::vector<std::uint32_t> trie_;
  std::string replacements_;  ///< ends in NUL
};

}  // namespace casemate
