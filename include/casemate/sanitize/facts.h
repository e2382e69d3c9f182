// casemate/sanitize/facts.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {

/// What a fact may disclose. Checked after generation, whatever the model was told.
struct FactBounds {
  int max_characters = 200;  ///< of all facts together, in code points; in [1, 1000000]
  double max_share = 0.3;    ///< of the context's length that all facts together may have; in (0, 1]
  int max_shared_words = 8;  ///< longest run of words that a fact may share with a passage; in [1, 10000]
};

/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status validate(const FactBounds& bounds);

/// What became of a sentence that the extractor wrote.
enum class FactFate : std::uint8_t {
  kKept,
  kRewritten,  ///< it shared too long a run with a passage; said in other words it does not
  kCut,        ///< a run was still too long, so only a piece of it is left, or it was cut to the length bound
  kNoKeyword,  ///< dropped: it says nothing of a keyword
  kTooLong,    ///< dropped: no room was left
  kRepeated,   ///< dropped: an earlier one says the same words
};
[[nodiscard]] std::string_view fact_fate_name(FactFate fate) noexcept;  ///< "kept", "rewritten", ... "no-keyword"

struct FactRecord {
  UntrustedText text;  ///< as it goes on, or as it was dropped
  FactFate fate = FactFate::kKept;
  std::size_t passage = 0;  ///< the one that it shares most words with
  [[nodiscard]] bool goes_on() const noexcept {
    return fate == FactFate::kKept || fate == FactFate::kRewritten || fate == FactFate::kCut;
  }
};

/// Says a sentence in other words.
using RewriteFact = std::function<Result<UntrustedText>(const UntrustedText& fact)>;

/// Splits what the extractor wrote into sentences (list marks and quotes go) and applies the bounds: a sentence without
/// at least half of a keyword's words is dropped; a run of more than `max_shared_words` words in common with a passage
/// (case and punctuation apart) is rewritten once and then cut to the piece around its keyword; sentences go on while
/// they fit the length. The first that does not fit is cut at a word if nothing stands before it, else it is dropped.
/// No keywords: every sentence passes that test. At most 64 sentences are looked at. Linear in `written` times
/// `sources`. Error: what `rewrite` says (an empty function: straight to cutting).
[[nodiscard]] Result<std::vector<FactRecord>> bound_facts(std::string_view written,
                                                          std::span<const std::string> keywords,
                                                          std::span<const std::string> sources,
                                                          const FactBounds& bounds, const RewriteFact& rewrite);

/// The longest run of words that `text` has in common with one of `sources`, case and punctuation apart.
[[nodiscard]] std::size_t longest_shared_run(std::string_view text, std::span<const std::string> sources);

}  // namespace casemate
