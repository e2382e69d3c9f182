// Content words of a context, the runs they form, and where they stand.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casemate/sanitize/ap_keywords.h"

namespace casemate::sanitize {

/// A content word of a passage.
struct ContentWord {
  PassageSpan place;
  std::string form;  ///< in comparison form, to find its other places
};

/// A word or a maximal run of content words, at one place.
struct PlacedPhrase {
  std::size_t first_word = 0;  ///< index into ContextWords::words
  std::size_t words = 0;
};

/// `texts` are what the prompt shows of the passages.
struct ContextWords {
  std::vector<std::string> texts;
  std::vector<ContentWord> words;
  std::vector<PlacedPhrase> phrases;  ///< in order; every word is in exactly one
  [[nodiscard]] PassageSpan place(const PlacedPhrase& phrase) const;
  [[nodiscard]] std::string form(const PlacedPhrase& phrase) const;  ///< words joined by blanks
};

[[nodiscard]] ContextWords context_words(const KeywordExtractor& tagger, std::span<const ContextPassage> passages);

/// Runs of words that read like `phrase`, also inside longer runs; in order, not overlapping.
[[nodiscard]] std::vector<PassageSpan> occurrences(const ContextWords& context, const PlacedPhrase& phrase);

/// The passages with these places taken out (with one blank beside each) or replaced by "___".
[[nodiscard]] std::vector<ContextPassage> without(std::span<const ContextPassage> passages, const ContextWords& context,
                                                  std::span<const PassageSpan> places, Perturbation how);

}  // namespace casemate::sanitize
