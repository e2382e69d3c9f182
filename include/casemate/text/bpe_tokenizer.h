// casemate/text/bpe_tokenizer.h
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

/// A special token of a tokenizer.json.
struct AddedToken {
  std::string text;
  TokenId id = 0;
  bool strips_left = false;  ///< takes the blanks before it along ("<mask>" of RoBERTa)
};

/// What a byte-level BPE tokenizer (GPT-2, RoBERTa) is made of.
struct BpeDefinition {
  std::vector<std::string> pieces;                          ///< in id order, in the byte-to-letter alphabet
  std::vector<std::pair<std::string, std::string>> merges;  ///< most important first
  std::vector<AddedToken> special_tokens;
  bool add_prefix_space = false;  ///< a text without a leading blank gets one
};

/// RoBERTa framing: <s> text </s>, pairs joined by </s></s>. Error: InvalidInput where <s>, </s>, <unk> or <pad> is
/// missing or a merge's result is not a piece.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> create_bpe_tokenizer(BpeDefinition definition);

}  // namespace casemate
