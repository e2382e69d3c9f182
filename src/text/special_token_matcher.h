// src/text/special_token_matcher.h
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "casemate/text/tokenizer.h"

namespace casemate {

/// Cuts a text at the special tokens written in it: leftmost, then longest match, as Hugging Face does.
class SpecialTokenMatcher {
 public:
  struct Piece {
    TokenId special = -1;  ///< the token's id, or -1 for ordinary text
    TokenSpan span;
  };

  /// `strips_left`: blanks before the token belong to it.
  void add(std::string token, TokenId id, bool strips_left = false);
  /// In `kAsText` mode, and where nothing matches, the whole text is one ordinary piece. Empty pieces are left out.
  [[nodiscard]] std::vector<Piece> split(std::string_view text, SpecialTokens mode) const;

 private:
  struct Entry {
    std::string token;
    TokenId id;
    bool strips_left;
  };
  std::vector<Entry> entries_;  // longest first, so that the first match at a place is the longest
};

}  // namespace casemate
