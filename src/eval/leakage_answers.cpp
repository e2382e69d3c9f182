#include "eval/leakage_answers.h"

#include <mutex>
#include <optional>

#include "casemate/core/run_together.h"
#include "casemate/generate/question.h"
#include "casemate/generate/vanilla.h"
#include "casemate/llm/generate_each.h"

namespace casemate {
namespace {

constexpr std::size_t kAtOnce = 15;        // contexts: as many as a question has instructions and cases
constexpr std::size_t kBatchesAtOnce = 4;  // of answers: together with their sequences some twenty rows a step

std::vector<ContextPassage> raw_passages(std::span<const LeakChunk> chunks) {
  std::vector<ContextPassage> out;
  for (const LeakChunk& chunk : chunks) out.push_back({UntrustedText(), chunk.text});
  return out;
}

std::vector<PromptPassage> prompt_passages(const SanitizedContext& context) {
  std::vector<PromptPassage> out;
  for (const SanitizedPassage& each : context.passages) out.push_back({each.title, each.text});
  return out;
}

}  // namespace

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

Result<SanitizedContext> LeakageAnswers::context_of(std::size_t mode, const UntrustedText& question,
                                                    std::span<const LeakChunk> chunks,
                                                    const std::stop_token& stop) const {
  return sanitizers_.at(mode)->sanitize(question, raw_passages(chunks), stop);
}

Status LeakageAnswers::prepare(std::span<const LeakQuestion> questions, const std::stop_token& stop,
                               const std::function<void(std::size_t ready)>& on_ready) const {
  std::vector<std::optional<Prompt>> prompts(questions.size());
  const Status contexts = run_together(questions.size(), kAtOnce, [&](std::size_t i) -> Status {
    auto prompt = prompt_for(questions[i], stop);
    if (!prompt) return prompt.error();
    prompts[i] = *std::move(prompt);
    return {};
  });
  if (!contexts || experiment_->guard) return contexts;
  struct Batch {
    std::vector<Prompt> prompts;
    std::size_t questions = 0;
  };
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    if (i == 0 || questions[i].mode != questions[i - 1].mode || questions[i].group != questions[i - 1].group)
      batches.emplace_back();
    ++batches.back().questions;
    if (prompts[i]) batches.back().prompts.push_back(*std::move(prompts[i]));
  }
  GenerateOptions options;
  options.max_new_tokens = experiment_->max_new_tokens;
  std::mutex told;
  std::size_t ready = 0;
  return run_together(batches.size(), kBatchesAtOnce, [&](std::size_t b) -> Status {
    const Status made = model_->prepare(batches[b].prompts, options, stop);
    if (!made && made.error().code == ErrorCode::kCancelled) return made;
    const std::lock_guard lock(told);
    on_ready(ready += batches[b].questions);
    return {};
  });
}

Result<std::optional<Prompt>> LeakageAnswers::prompt_for(const LeakQuestion& question,
                                                         const std::stop_token& stop) const {
  const auto context = context_of(question.mode, question.text, question.chunks, stop);
  if (!context && context.error().code == ErrorCode::kCancelled) return context.error();
  if (!context || context->answer || context->closed_book || context->passages.empty()) return std::optional<Prompt>();
  Prompt prompt = vanilla_prompt(question.text, prompt_passages(*context), context->rule);
  const auto fits = prompt_fits(*model_, prompt, experiment_->max_new_tokens);
  return fits && *fits ? std::optional(std::move(prompt)) : std::nullopt;
}

Result<LeakAnswer> LeakageAnswers::answer(std::size_t mode, const UntrustedText& question,
                                          std::span<const LeakChunk> chunks, const std::stop_token& stop) const {
  auto context = context_of(mode, question, chunks, stop);
  if (!context) return context.error();
  LeakAnswer out;
  out.context = *std::move(context);
  std::unique_ptr<OutputGuard> guard;
  if (experiment_->guard) {
    auto made = OutputGuard::create(*experiment_->guard, raw_passages(chunks), {});
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
  VanillaOptions options;
  options.max_new_tokens = experiment_->max_new_tokens;
  options.rule = context.rule;
  const auto made = answer_vanilla(*model_, question, prompt_passages(context), options, take, stop);
  return made ? Status() : Status(made.error());
}

}  // namespace casemate
