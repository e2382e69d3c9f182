// casemate/text/fragments.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

enum class FragmentUnit : std::uint8_t {
  kWord,   ///< fragments begin where a word begins
  kToken,  ///< fragments begin at any token
};

struct FragmentOptions {
  int count = 5;                            ///< N, fragments a passage; 1 to 64
  FragmentUnit unit = FragmentUnit::kWord;  ///< where a passage may be cut
};

struct Fragments {
  /// Exactly N spans of the passage, in order, without blanks at the ends. The first `distinct` are disjoint and hold
  /// every byte but blanks; the rest repeat the last of them.
  std::vector<ByteSpan> spans;
  std::size_t distinct = 0;
  /// True where the passage has too few words or tokens, so that the last fragment is repeated.
  [[nodiscard]] bool repeats() const noexcept { return distinct < spans.size(); }
};

/// Splits a passage into N contiguous fragments of near-equal retriever token counts (RAGPart, step 1). By token they
/// differ by at most one token (but no UTF-8 character is cut); by word each cut is at the word nearest to the equal
/// one. Error: InvalidOption; InvalidInput where the passage has no token.
[[nodiscard]] Result<Fragments> split_fragments(std::string_view passage, const Tokenizer& tokenizer,
                                                const FragmentOptions& options);

}  // namespace casemate
