#include <algorithm>
#include <chrono>

#include "casemate/generate/vanilla.h"
#include "pipeline/generation_evidence.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/search.h"

namespace casemate {
namespace {

void note_fit(std::size_t used, std::span<const Hit> hits, StageEvidence& stage) {
  for (std::size_t i = used; i < hits.size(); ++i) {
    stage.verdicts.push_back({hits[i].id,
                              hits[i].document,
                              Decision::kDropped,
                              "does not fit the model's context beside the passages before it",
                              hits[i].candidate.score,
                              {}});
  }
}

}  // namespace

Answer answer_from_nothing(SearchResult found, const UntrustedText& question) {
  Answer answer;
  answer.question = question;
  answer.policy = found.policy;
  answer.evidence = std::move(found.evidence);
  answer.text = UntrustedText("I don't know: the store has no passage for this question.");
  answer.finish_reason = "no_passages";
  StageEvidence stage;
  stage.stage = "generate";
  stage.notes.emplace_back("no passage was found, so the model was not asked");
  answer.evidence.stages.push_back(std::move(stage));
  return answer;
}

Result<Answer> Pipeline::ask(const UntrustedText& question, const QueryOptions& options,
                             const std::function<void(const UntrustedText&)>& on_text, std::stop_token stop) const {
  if (state_->parts.model == nullptr) return Error{ErrorCode::kInvalidArgument, "answering needs a language model"};
  auto found = search(question, options, stop);
  if (!found) return found.error();
  if (found->hits.empty()) return answer_from_nothing(*std::move(found), question);
  const auto began = std::chrono::steady_clock::now();
  auto answer = state_->ask_about(*std::move(found), question, options, on_text, std::move(stop));
  if (!answer) return answer;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  answer->evidence.times.push_back({"generate", took.count()});
  return answer;
}

Result<Answer> Pipeline::State::ask_about(SearchResult found, const UntrustedText& question,
                                          const QueryOptions& options,
                                          const std::function<void(const UntrustedText&)>& on_text,
                                          std::stop_token stop) const {
  if (sanitizer || policy.guard) return ask_protected(std::move(found), question, options, on_text, std::move(stop));
  if (!policy.generation.aggregation && options.options.empty())
    return ask_in_one_prompt(std::move(found), question, options, on_text, std::move(stop));
  auto answer = ask_groups(std::move(found), question, options, std::move(stop));
  if (answer && on_text) on_text(answer->text);
  return answer;
}

Result<Answer> Pipeline::State::ask_in_one_prompt(SearchResult found, const UntrustedText& question,
                                                  const QueryOptions& options,
                                                  const std::function<void(const UntrustedText&)>& on_text,
                                                  std::stop_token stop) const {
  const std::vector<PromptPassage> passages = prompt_passages(found.hits);
  VanillaOptions generate;
  generate.max_new_tokens = max_new_tokens(options);
  generate.style = options.style;
  const OnText forward = [&on_text](std::string_view text) {
    if (on_text) on_text(UntrustedText(std::string(text)));
    return true;
  };
  auto made = answer_vanilla(*parts.model, question, passages, generate, forward, std::move(stop));
  if (!made) return made.error();
  Answer answer;
  answer.question = question;
  answer.text = std::move(made->text);
  answer.policy = found.policy;
  answer.evidence = std::move(found.evidence);
  answer.finish_reason = finish_reason_name(made->finish);
  answer.prompt_tokens = made->prompt_tokens;
  answer.generated_tokens = made->generated_tokens;
  StageEvidence stage;
  stage.stage = "generate";
  stage.parameters = {{"method", "vanilla"},
                      {"model", parts.model->info().name},
                      {"max_new_tokens", std::to_string(generate.max_new_tokens)}};
  stage.passages_in = passages.size();
  stage.passages_out = made->passages_used;
  note_fit(made->passages_used, found.hits, stage);
  note_neutralised(made->neutralised, stage);
  if (made->cited.empty()) stage.notes.emplace_back("the answer names none of the passages as its source");
  answer.evidence.stages.push_back(std::move(stage));
  for (std::size_t i = 0; i < made->passages_used; ++i) {
    Source source;
    source.number = static_cast<int>(i) + 1;
    source.cited = std::binary_search(made->cited.begin(), made->cited.end(), i + 1);
    source.hit = std::move(found.hits[i]);
    answer.sources.push_back(std::move(source));
  }
  return answer;
}

}  // namespace casemate
