#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "text/affix_rules.h"
#include "text/tagger_file.h"

namespace casemate {

struct EnglishToken {
  ByteSpan span;
  bool space_after = false;  ///< exactly one blank follows that is no token
  bool is_space = false;     ///< white space that is a token (all but single blanks)
  std::string_view norm;     ///< what the tagger reads for the word where a rule gives it ("n't": "not"), or ""
};

/// Cuts English as spaCy's tokenizer does: at white space, then affixes, separators and the special cases of a table.
/// Any bytes; a broken sequence is one character. Linear time. Immutable, thread-safe.
class EnglishTokenizer {
 public:
  /// `file`'s bytes must outlive the tokenizer.
  [[nodiscard]] static Result<EnglishTokenizer> create(const TaggerFile& file);
  [[nodiscard]] std::vector<EnglishToken> tokenize(std::string_view text) const;

 private:
  struct Special {
    std::size_t plain_tokens = 0;  ///< what the other rules make of it; 0: they leave it whole
    std::vector<std::pair<std::string_view, std::string_view>> tokens;  ///< word, norm or ""
  };
  struct Chunk;

  explicit EnglishTokenizer(AffixRules rules) : rules_(std::move(rules)) {}
  [[nodiscard]] const Special* special(std::string_view text) const;
  static void add_special(const Special& special, std::size_t at, std::vector<EnglishToken>& tokens);
  void cut_chunk(const Chunk& chunk, std::vector<EnglishToken>& tokens) const;
  void cut_core(const Chunk& chunk, CharSpan core, std::vector<EnglishToken>& tokens) const;
  [[nodiscard]] std::vector<EnglishToken> joined(std::string_view text, std::vector<EnglishToken> tokens) const;

  AffixRules rules_;
  std::unordered_map<std::string_view, Special> specials_;
  std::size_t longest_special_ = 0;    // bytes
  std::size_t most_plain_tokens_ = 0;  // tokens
};

}  // namespace casemate
