#include "casemate/text/fragments.h"

#include <algorithm>
#include <string>

#include "casemate/text/segmentation.h"
#include "text/token_cuts.h"

namespace casemate {
namespace {

/// Tokens before which the passage may be cut, ascending, without token 0.
std::vector<std::size_t> possible_cuts(std::string_view passage, const std::vector<TokenSpan>& tokens,
                                       FragmentUnit unit) {
  std::vector<std::size_t> cuts;
  if (unit == FragmentUnit::kToken) {
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (is_cut(passage, tokens, i)) cuts.push_back(i);
    }
    return cuts;
  }
  std::size_t token = 0;
  bool first = true;
  for (const ByteSpan& word : word_spans(passage)) {
    // A tokenizer may count the blank before a word as part of its first token.
    while (token < tokens.size() && tokens[token].begin < word.begin && tokens[token].end <= word.begin) ++token;
    if (token >= tokens.size()) break;
    const bool begins_here = trimmed(passage, {tokens[token].begin, tokens[token].end}).begin == word.begin;
    if (!first && begins_here && token > 0 && is_cut(passage, tokens, token)) cuts.push_back(token);
    first = false;
  }
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

/// Of `cuts`, the `wanted` ones nearest to equal parts of `total` tokens, strictly ascending.
std::vector<std::size_t> nearest_cuts(const std::vector<std::size_t>& cuts, std::size_t wanted, std::size_t total) {
  std::vector<std::size_t> chosen;
  std::size_t from = 0;
  const std::size_t parts = wanted + 1;
  for (std::size_t i = 1; i <= wanted; ++i) {
    const std::size_t last = cuts.size() - (wanted - i);  // leaves one cut for each part that follows
    const auto distance = [&](std::size_t cut) {
      const std::size_t scaled = cut * parts;
      const std::size_t ideal = total * i;
      return scaled > ideal ? scaled - ideal : ideal - scaled;
    };
    std::size_t best = from;
    while (best + 1 < last && distance(cuts[best + 1]) < distance(cuts[best])) ++best;
    chosen.push_back(cuts[best]);
    from = best + 1;
  }
  return chosen;
}

}  // namespace

Result<Fragments> split_fragments(std::string_view passage, const Tokenizer& tokenizer,
                                  const FragmentOptions& options) {
  if (options.count < 1 || options.count > 64) {
    return Error{ErrorCode::kInvalidOption, "fragments.count: " + std::to_string(options.count) + " is not in [1, 64]"};
  }
  const std::vector<TokenSpan> tokens = tokenizer.tokenize(passage, SpecialTokens::kAsText).spans;
  if (tokens.empty()) return Error{ErrorCode::kInvalidInput, "the passage has no token, so it has no fragments"};

  const std::vector<std::size_t> cuts = possible_cuts(passage, tokens, options.unit);
  const std::size_t wanted = std::min(static_cast<std::size_t>(options.count) - 1, cuts.size());
  Fragments fragments;
  std::size_t begin = 0;
  for (const std::size_t cut : nearest_cuts(cuts, wanted, tokens.size())) {
    fragments.spans.push_back(trimmed(passage, {begin, tokens[cut].begin}));
    begin = tokens[cut].begin;
  }
  fragments.spans.push_back(trimmed(passage, {begin, passage.size()}));
  fragments.distinct = fragments.spans.size();
  fragments.spans.resize(static_cast<std::size_t>(options.count), fragments.spans.back());
  return fragments;
}

}  // namespace casemate
