// eval/passage_reader.h
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/encoder/heads.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/experiment.h"
#include "casemate/sanitize/sanitizers.h"
#include "eval/robust_parts.h"

namespace casemate {

/// An answer, and what it took.
struct Reading {
  UntrustedText text;
  FinishReason finish = FinishReason::kEnd;
  std::size_t generated_tokens = 0;
  std::vector<GroupAnswer> groups{};
  double disclosed = 1;  ///< share of the passages' characters that the generator was shown
};

/// One of the `methods` of a reading experiment: "span", "vanilla", "no-retrieval", an aggregation with its options,
/// each also behind a sanitizer: "kfs-fact > vanilla", "kfs-fact{k_out: 2} > keyword{alpha: 0.4}".
class PassageReader {
 public:
  /// `model` and `reranker` (may be null) must outlive it. Error: InvalidOption, naming the nearest method, sanitizer
  /// or option; Unsupported for a sanitizer that works by the generator's instructions (prompt-hardening).
  [[nodiscard]] static Result<PassageReader> create(const std::string& name, LanguageModel& model,
                                                    const Reranker* reranker);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Reads the first passage alone.
  [[nodiscard]] bool reads_one() const noexcept { return !method_; }
  /// Answers without any passage.
  [[nodiscard]] bool reads_none() const noexcept { return method_ && method_->no_retrieval; }
  /// Error: InvalidInput without passages where the method needs some (behind a sanitizer too); what the model says;
  /// Cancelled.
  [[nodiscard]] Result<Reading> read(const UntrustedText& question, std::span<const PromptPassage> passages,
                                     const std::stop_token& stop);

 private:
  Result<Reading> read_shown(const UntrustedText& question, std::span<const PromptPassage> passages,
                             const std::stop_token& stop);

  std::string name_;
  LanguageModel* model_ = nullptr;
  std::optional<AnswerMethod> method_;  ///< unset: a span of the first passage
  std::unique_ptr<Sanitizer> sanitizer_;
  RobustParts robust_;  ///< conditions often show the same passages
};

/// Whether any method of the experiment stands behind a sanitizer.
[[nodiscard]] bool sanitizes(const Experiment& experiment);

}  // namespace casemate
