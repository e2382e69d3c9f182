// casemate/text/unigram_tokenizer.h
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/bpe_tokenizer.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

/// What a sentencepiece Unigram tokenizer (XLM-RoBERTa, multilingual E5) is made of.
struct UnigramDefinition {
  std::vector<std::pair<std::string, double>> pieces;  ///< piece and log-probability, in id order
  TokenId unknown = 0;
  std::vector<AddedToken> special_tokens;
  std::string
      character_map;  ///< sentencepiece's precompiled normalisation (a double-array trie and its strings); may be empty
  bool collapse_blanks = false;       ///< runs of blanks become one
  bool split_on_white_space = false;  ///< white space separates words and is dropped
};

/// Viterbi segmentation as Hugging Face's Unigram with the Metaspace pre-tokenizer; framing <s> text </s>.
/// Error: InvalidInput where <s>, </s> or <pad> is missing, or the character map is broken.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> create_unigram_tokenizer(UnigramDefinition definition);

}  // namespace casemate
