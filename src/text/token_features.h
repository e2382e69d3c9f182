#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/english_tokenizer.h"
#include "text/tagger_network.h"

namespace casemate {

/// Letters as X and x, digits as d, the rest as it is; no run longer than four; "LONG" from 100 characters on.
[[nodiscard]] std::string word_shape(std::string_view word);

/// Makes what the network reads of each token. Immutable, thread-safe.
class TokenFeatureMaker {
 public:
  [[nodiscard]] static Result<TokenFeatureMaker> create(const TaggerFile& file);
  [[nodiscard]] std::vector<TokenFeatures> features(std::string_view text, std::span<const EnglishToken> tokens) const;

 private:
  [[nodiscard]] std::uint64_t id(std::string_view text) const;
  [[nodiscard]] std::uint64_t norm_id(std::string_view word, std::string_view norm) const;

  std::unordered_map<std::string_view, std::uint64_t> symbols_;  // names of spaCy's own that are no hashes
  std::unordered_map<std::uint64_t, std::string_view> norms_;
};

}  // namespace casemate
