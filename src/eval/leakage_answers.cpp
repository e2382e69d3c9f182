#include "eval/leakage_answers.h"

#include "casemate/generate/question.h"
#include "casemate/generate/vanilla.h"

namespace casemate {

Result<LeakageAnswers> LeakageAnswers::create(const LeakageExperiment& experiment, const LeakageParts& parts) {
  LeakageAnswers out(experiment, *parts.model);
  SanitizerServices services;
  services.model = out.model_.get();
  services.backbone = parts.backbone;
  services.keywords = out.keywords_.get();
  for (const SanitizerChoice& mode : experiment.modes) {
    auto made = create_sanitizer(mode, services);
    if (!made) return made.error();
    out.sanitizers_.push_back(*std::move(made));
  }
  return out;
}

Result<LeakAnswer> LeakageAnswers::answer(std::size_t mode, const UntrustedText& question,
                                          std::span<const LeakChunk> chunks, const std::stop_token& stop) const {
  std::vector<ContextPassage> raw;
  for (const LeakChunk& chunk : chunks) raw.push_back({UntrustedText(), chunk.text});
  auto context = sanitizers_.at(mode)->sanitize(question, raw, stop);
  if (!context) return context.error();
  LeakAnswer out;
  out.context = *std::move(context);
  std::unique_ptr<OutputGuard> guard;
  if (experiment_->guard) {
    auto made = OutputGuard::create(*experiment_->guard, raw, {});
    if (!made) return made.error();
    guard = *std::move(made);
  }
  const OnText take = [&](std::string_view piece) {
    if (!guard) {
      out.text += piece;
      return true;
    }
    const GuardedText step = guard->push(piece);
    out.text += step.text;
    return !step.ended;
  };
  if (Status made = generate(out.context, question, take, stop); !made) return made.error();
  if (guard) {
    out.text += guard->finish().text;
    out.withheld = guard->report().ended;
  }
  return out;
}

Status LeakageAnswers::generate(const SanitizedContext& context, const UntrustedText& question, const OnText& take,
                                const std::stop_token& stop) const {
  if (context.answer) {
    take(context.answer->bytes());
    return {};
  }
  if (context.closed_book) {
    Question alone;
    alone.text = question;
    GenerateOptions options;
    options.max_new_tokens = experiment_->max_new_tokens;
    const auto made = model_->generate(no_retrieval_prompt(alone), options, stop, take);
    return made ? Status() : Status(made.error());
  }
  if (context.passages.empty()) {
    take(abstention_text());
    return {};
  }
  std::vector<PromptPassage> passages;
  for (const SanitizedPassage& each : context.passages) passages.push_back({each.title, each.text});
  VanillaOptions options;
  options.max_new_tokens = experiment_->max_new_tokens;
  options.rule = context.rule;
  const auto made = answer_vanilla(*model_, question, passages, options, take, stop);
  return made ? Status() : Status(made.error());
}

}  // namespace casemate
