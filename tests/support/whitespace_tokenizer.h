// tests/support/whitespace_tokenizer.h
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/utf8.h"
#include "casemate/text/tokenizer.h"

namespace casemate::test {

/// A tokenizer for tests: each run of non-blanks is cut into pieces of at most `piece_bytes` bytes (0: not cut). Pieces
/// end between characters unless `byte_level`. Ids are piece lengths.
class WhitespaceTokenizer final : public Tokenizer {
 public:
  explicit WhitespaceTokenizer(std::size_t piece_bytes = 0, bool byte_level = false)
      : piece_bytes_(piece_bytes), byte_level_(byte_level) {}

  Tokens tokenize(std::string_view text, SpecialTokens) const override {
    Tokens out;
    std::size_t at = 0;
    while (at < text.size()) {
      if (is_blank(text[at])) {
        ++at;
        continue;
      }
      std::size_t run = at;
      while (run < text.size() && !is_blank(text[run])) ++run;
      while (at < run) {
        const std::size_t end = piece_end(text, at, run);
        out.ids.push_back(static_cast<TokenId>(end - at));
        out.spans.push_back({at, end});
        at = end;
      }
    }
    return out;
  }
  std::string decode(std::span<const TokenId> ids) const override { return std::string(ids.size(), '?'); }
  std::size_t vocabulary_size() const noexcept override { return 1000; }
  std::string_view piece(TokenId) const noexcept override { return {}; }
  bool is_special(TokenId) const noexcept override { return false; }
  std::span<const TokenId> prefix() const noexcept override { return {}; }
  std::span<const TokenId> suffix() const noexcept override { return {}; }
  std::span<const TokenId> pair_separator() const noexcept override { return {}; }
  TokenId mask_id() const noexcept override { return -1; }
  TokenId unknown_id() const noexcept override { return -1; }
  TokenId padding_id() const noexcept override { return -1; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t'; }
  std::size_t piece_end(std::string_view text, std::size_t at, std::size_t run) const {
    if (piece_bytes_ == 0) return run;
    if (byte_level_) return std::min(run, at + piece_bytes_);
    std::size_t end = at;
    while (end < run) {
      const std::size_t length = read_code_point(text, end).length;
      if (end > at && end + length - at > piece_bytes_) break;
      end += length;
    }
    return std::min(end, run);
  }

  std::size_t piece_bytes_;
  bool byte_level_;
};

}  // namespace casemate::test
