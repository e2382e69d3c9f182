// casemate/sanitize/sanitizer.h
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/sanitize/ap_keywords.h"
#include "casemate/sanitize/facts.h"

namespace casemate {

/// What the generator reads instead of a passage.
struct SanitizedPassage {
  UntrustedText title;  ///< empty for what was written anew
  UntrustedText text;
  std::size_t origin = 0;  ///< the passage that it mostly comes from
  bool mixed = false;      ///< made of several passages: any of those given may be in it
};

/// How much of a passage's text still goes on.
struct Disclosure {
  std::size_t characters = 0;          ///< of the passage
  std::size_t longest_shared_run = 0;  ///< words of it in a row that stand in what goes on
  bool read = true;                    ///< false: it did not fit the model that extracts
};

/// What a sanitizer saw and decided.
struct SanitizerRecord {
  std::string mode;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< in a fixed order
  std::optional<ApKeywords> keywords;                           ///< with both scores; nothing where the mode has none
  std::vector<UntrustedText> words;                             ///< the keywords that were used, best first
  std::vector<FactRecord> facts;                                ///< what the extractor wrote, sentence by sentence
  UntrustedText resynthesised;           ///< kfs-full: the passage made of the facts; empty where none was
  std::size_t context_characters = 0;    ///< of all passages
  std::size_t disclosed_characters = 0;  ///< of all that goes on
  std::vector<Disclosure> passages;      ///< one for each passage given
  std::vector<std::string> notes;        ///< safe to print
};

/// A context that may be shown to a generator.
struct SanitizedContext {
  std::vector<SanitizedPassage>
      passages;                         ///< empty: nothing is left (`closed_book` apart, the answer is "I don't know")
  bool closed_book = false;             ///< the generator answers from what it knows (no-rag)
  std::optional<UntrustedText> answer;  ///< this is the answer; the generator is not asked (keywords-direct)
  std::string rule;                     ///< for the generator's instructions (prompt-hardening); trusted
  SanitizerRecord record;
};

/// Takes the place of retrieved passages before the generator sees them.
///
/// Never gives a passage as it was when something failed or nothing is left: the result is empty then, and says so
/// (`vanilla` and `prompt-hardening`, which are there to be compared with, apart). Thread-safe as far as its models
/// are.
class Sanitizer {
 public:
  virtual ~Sanitizer() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> parameters() const = 0;
  /// `passages` best first; they may be empty, as may their texts. Error: what the models say; Limit where the question
  /// alone does not fit; Cancelled.
  [[nodiscard]] virtual Result<SanitizedContext> sanitize(const UntrustedText& question,
                                                          std::span<const ContextPassage> passages,
                                                          std::stop_token stop = {}) const = 0;
};

}  // namespace casemate
