// eval/leakage_answers.h
#pragma once

#include <functional>
#include <memory>
#include <optional>
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
  std::size_t mode = 0;
  std::size_t group = 0;  ///< neighbours of one mode and group are answered as one batch, which shares a beginning
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
  /// Lets the models compute what `answer` will ask them for, side by side: their next tokens for all who wait are one
  /// step. Several questions to one passage should follow each other. What goes wrong here goes wrong in `answer`
  /// again, where it is told. Under a guard, which reads word by word, only the contexts are made. `on_ready` hears how
  /// many are done, from one thread at a time. Error: Cancelled.
  [[nodiscard]] Status prepare(std::span<const LeakQuestion> questions, const std::stop_token& stop,
                               const std::function<void(std::size_t ready)>& on_ready) const;
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
  /// Nothing where the answer needs no prompt, or does not come from one that fits.
  [[nodiscard]] Result<std::optional<Prompt>> prompt_for(const LeakQuestion& question,
                                                         const std::stop_token& stop) const;
  [[nodiscard]] Status generate(const SanitizedContext& context, const UntrustedText& question, const OnText& take,
                                const std::stop_token& stop) const;

  const LeakageExperiment* experiment_;
  std::unique_ptr<RememberingModel> model_;
  std::unique_ptr<ApMemory> keywords_;
  std::vector<std::unique_ptr<Sanitizer>> sanitizers_;  ///< [modes]
};

}  // namespace casemate
