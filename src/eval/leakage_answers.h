// eval/leakage_answers.h
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/eval/leakage_experiment.h"
#include "casemate/llm/remembering_model.h"
#include "casemate/sanitize/ap_memory.h"
#include "eval/leakage_corpus.h"

namespace casemate {

struct LeakAnswer {
  std::string text;
  bool withheld = false;  ///< the guard ended it
  SanitizedContext context;
};

struct LeakQuestion {
  UntrustedText text;
  std::vector<LeakChunk> chunks;  ///< retrieved for it
};

/// The modes of a leakage experiment, which answer from chunks. Experiment and models must outlive it.
class LeakageAnswers {
 public:
  /// Error: what `create_sanitizer` says.
  [[nodiscard]] static Result<LeakageAnswers> create(const LeakageExperiment& experiment, const LeakageParts& parts);
  /// Error: what sanitizer and models say; Cancelled.
  [[nodiscard]] Result<LeakAnswer> answer(std::size_t mode, const UntrustedText& question,
                                          std::span<const LeakChunk> chunks, const std::stop_token& stop) const;
  /// Lets the model write the answers to several questions together, for `answer` to find. What goes wrong here goes
  /// wrong there again, where it is told. Nothing to do under a guard, which reads word by word. Error: Cancelled.
  [[nodiscard]] Status prepare(std::size_t mode, std::span<const LeakQuestion> questions,
                               const std::stop_token& stop) const;
  /// What was not computed again because another mode had it: a mode by itself takes so much longer.
  [[nodiscard]] double saved_seconds() const { return model_->saved_seconds() + keywords_->saved_seconds(); }

 private:
  LeakageAnswers(const LeakageExperiment& experiment, LanguageModel& model)
      : experiment_(&experiment),
        model_(std::make_unique<RememberingModel>(model)),
        keywords_(std::make_unique<ApMemory>()) {}
  [[nodiscard]] Result<SanitizedContext> context_of(std::size_t mode, const UntrustedText& question,
                                                    std::span<const LeakChunk> chunks,
                                                    const std::stop_token& stop) const;
  [[nodiscard]] Status generate(const SanitizedContext& context, const UntrustedText& question, const OnText& take,
                                const std::stop_token& stop) const;

  const LeakageExperiment* experiment_;
  std::unique_ptr<RememberingModel> model_;
  std::unique_ptr<ApMemory> keywords_;
  std::vector<std::unique_ptr<Sanitizer>> sanitizers_;  ///< [modes]
};

}  // namespace casemate
