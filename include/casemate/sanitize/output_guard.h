// casemate/sanitize/output_guard.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/sanitize/ap_keywords.h"

namespace casemate {

/// What happens where an answer reproduces too much. A canary always ends the answer.
enum class GuardReaction : std::uint8_t {
  kStop,    ///< the answer ends there
  kRedact,  ///< "[withheld]" stands for the rest of the run; too large a share ends the answer
  kFacts,   ///< the answer ends there, and the caller answers again from facts
};
[[nodiscard]] std::string_view guard_reaction_name(GuardReaction reaction) noexcept;  ///< "stop", "redact", "facts"

struct GuardOptions {
  GuardReaction reaction = GuardReaction::kStop;
  int max_run_words = 10;  ///< words in a row that an answer may share with a passage; in [3, 1000]
  double max_share =
      0.35;  ///< share of a passage's words that runs of share_run_words or more may reproduce; in (0, 1]
  int share_run_words = 4;  ///< shorter runs do not count into the share: names and phrases; in [2, 1000]
};

/// "stop", "redact{max_run_words: 8}". Error: InvalidOption, naming field and range; InvalidInput for other forms.
[[nodiscard]] Result<GuardOptions> parse_guard(std::string_view text);
/// Error: InvalidOption.
[[nodiscard]] Status validate(const GuardOptions& options);

enum class IncidentKind : std::uint8_t { kRun, kShare, kCanary };
[[nodiscard]] std::string_view incident_kind_name(IncidentKind kind) noexcept;  ///< "run", "share", "canary"

struct GuardIncident {
  IncidentKind kind = IncidentKind::kRun;
  std::size_t passage = 0;  ///< number of the canary for kCanary
  std::size_t words = 0;    ///< of the run; of all runs together for kShare
  double share = 0;         ///< of the passage's words that were reproduced so far
  std::string form;         ///< how it was written: "plain", "reversed words", "reversed letters", "base64", "hex"
};

struct GuardReport {
  std::vector<GuardIncident> incidents;
  std::size_t longest_run_words = 0;  ///< over all passages, incidents included
  double largest_share = 0;           ///< over all passages
  bool ended = false;                 ///< the answer was ended
  std::size_t redacted = 0;           ///< runs that "[withheld]" stands for
};

/// What may be shown now.
struct GuardedText {
  std::string text;    ///< valid UTF-8: broken bytes of the model are U+FFFD
  bool ended = false;  ///< nothing more will come; stop generating
};

/// Compares an answer with the raw passages while it is written, and holds text back so that no more of a passage in a
/// row than `max_run_words` whole words ever gets out.
///
/// Both are compared as letters and digits only, lower case, compatibility forms and look-alike characters as one
/// (Unicode TS #39 skeletons), so case, blanks, line ends, punctuation, zero-width characters and homoglyphs make no
/// difference; each passage also with its words or its letters in reverse, and text in base64 or hexadecimal is looked
/// into. Other codings (rot13, ciphers, other languages, synonyms) are not seen: docs/leakage.md lists what is and is
/// not. Works on text alone, with any generator.
///
/// A passage has at most 1,000,000 letters here; what is longer is compared up to there. One guard an answer; not
/// thread-safe. Time for a piece does not depend on the passages' length, except where these repeat themselves.
class OutputGuard {
 public:
  /// Passages count with their titles. `canaries` are strings that must never be seen in an answer (each of at least 8
  /// letters or digits, others are ignored): ten letters in a row of what stands behind the last "-" are an incident.
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<OutputGuard>> create(const GuardOptions& options,
                                                                   std::span<const ContextPassage> passages,
                                                                   std::span<const std::string> canaries);
  ~OutputGuard();
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;

  /// The next piece of the answer, of any bytes, cut anywhere.
  [[nodiscard]] GuardedText push(std::string_view piece);
  /// The answer is complete: what was held back, as far as it may be shown.
  [[nodiscard]] GuardedText finish();
  [[nodiscard]] const GuardReport& report() const noexcept;

 private:
  struct State;
  explicit OutputGuard(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
