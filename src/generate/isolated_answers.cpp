#include <algorithm>
#include <cmath>
#include <iterator>

#include "casemate/generate/robust_rag.h"
#include "casemate/text/answer_match.h"
#include "generate/greedy_batch.h"
#include "generate/group_batch.h"

namespace casemate {
namespace {

/// Groups decoded together; more only cost memory.
constexpr std::size_t kGroupsTogether = 32;

/// What aggregation reads out of an answer.
void interpret(const Question& question, const RobustOptions& options, GroupAnswer& answer) {
  answer.abstains = answer.too_long || is_abstention(answer.text.bytes());
  if (answer.abstains) return;
  if (options.method == Aggregation::kVoting) answer.option = chosen_option(question, answer.text.bytes());
  if (options.method == Aggregation::kKeyword) {
    answer.keywords = options.keywords(answer.text.bytes());
    std::erase_if(answer.keywords, [&](const std::string& keyword) {
      const auto words = static_cast<std::size_t>(std::count(keyword.begin(), keyword.end(), ' ')) + 1;
      return words < options.min_phrase_words;
    });
  }
}

/// What a prompt's answer says of its group.
void take(GreedyAnswer made, GroupAnswer& answer, IsolatedAnswers& out) {
  answer.text = std::move(made.text);
  answer.smallest_gap = made.smallest_gap;
  out.generated_tokens += made.generated_tokens;
  out.prompt_tokens += made.prompt_tokens;
  out.usage.decoded_tokens += made.usage.decoded_tokens;
  out.usage.reused_tokens += made.usage.reused_tokens;
  out.usage.calls += made.usage.calls;
  std::move(made.neutralised.begin(), made.neutralised.end(), std::back_inserter(out.neutralised));
}

/// Groups that are still to be asked, and their prompts where there is a memory to ask.
struct Unanswered {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> places;  ///< in IsolatedAnswers::groups
  std::vector<Prompt> prompts;      ///< empty without a memory
};

Prompt prompt_of(const Question& question, std::span<const PromptPassage> passages,
                 const std::vector<std::size_t>& group) {
  std::vector<PromptPassage> some;
  for (const std::size_t p : group) some.push_back(passages[p]);
  return isolated_prompt(question, some).prompt;
}

Unanswered look_up(const Question& question, std::span<const PromptPassage> passages,
                   std::span<const std::vector<std::size_t>> groups, const RobustOptions& options,
                   IsolatedAnswers& out) {
  Unanswered left;
  for (const std::vector<std::size_t>& group : groups) {
    out.groups.push_back({group});
    if (options.answers != nullptr) {
      Prompt prompt = prompt_of(question, passages, group);
      if (auto known = options.answers->find(prompt, options.max_new_tokens); known) {
        take(*std::move(known), out.groups.back(), out);
        ++out.remembered;
        continue;
      }
      left.prompts.push_back(std::move(prompt));
    }
    left.groups.push_back(group);
    left.places.push_back(out.groups.size() - 1);
  }
  return left;
}

GreedyAnswer answer_of(const generate::GreedyRun& run, std::string text, std::size_t prompt_tokens) {
  GreedyAnswer out;
  out.text = UntrustedText(std::move(text));
  out.smallest_gap = run.smallest_gap;
  out.generated_tokens = run.ids.size();
  out.prompt_tokens = prompt_tokens;
  out.finish = run.finish;
  return out;
}

Status answer_together(LanguageModel& model, const Question& question, std::span<const PromptPassage> passages,
                       const Unanswered& asked, const RobustOptions& options, const std::stop_token& stop,
                       IsolatedAnswers& out) {
  if (asked.groups.empty()) return {};
  auto started = generate::start_groups(model, question, passages, asked.groups, options, false, stop);
  if (!started) return started.error();
  for (const std::size_t i : started->too_long) out.groups[asked.places[i]].too_long = true;
  if (started->batch == nullptr) return {};
  std::vector<std::size_t> prompt_tokens;
  for (std::size_t s = 0; s < started->batch->size(); ++s) prompt_tokens.push_back(started->batch->tokens(s).size());
  auto runs = generate::run_greedy(model, *started->batch, started->groups.size(), options.max_new_tokens, stop);
  if (!runs) return runs.error();
  for (std::size_t i = 0; i < runs->size(); ++i) {
    const std::size_t group = started->groups[i];
    auto text = model.detokenize((*runs)[i].ids);
    if (!text) return text.error();
    GreedyAnswer made = answer_of((*runs)[i], *std::move(text), prompt_tokens[i]);
    if (options.answers != nullptr) options.answers->keep(asked.prompts[group], options.max_new_tokens, made);
    take(std::move(made), out.groups[asked.places[group]], out);
  }
  const LlmUsage usage = started->batch->usage();
  out.usage.decoded_tokens += usage.decoded_tokens;
  out.usage.reused_tokens += usage.reused_tokens;
  ++out.usage.calls;
  return {};
}

/// The difference of the two likeliest tokens at each position; nothing where a position does not list two. An answer
/// that ends by itself decided to end there, and replies do not list that decision.
std::optional<double> smallest_gap_of(const Generation& generation) {
  if (generation.positions.empty() || generation.finish == FinishReason::kEnd) return std::nullopt;
  double smallest = 1;
  for (const GeneratedPosition& position : generation.positions) {
    double first = -1;
    double second = -1;
    for (const TokenLogProbability& each : position.alternatives) {
      const double p = std::exp(each.log_probability);
      if (p > first) {
        second = first;
        first = p;
      } else if (p > second) {
        second = p;
      }
    }
    if (second < 0) return std::nullopt;
    smallest = std::min(smallest, first - second);
  }
  return smallest;
}

Result<GreedyAnswer> answer_alone(LanguageModel& model, const Prompt& prompt, int max_new_tokens,
                                  const std::stop_token& stop) {
  GenerateOptions generate;
  generate.max_new_tokens = max_new_tokens;
  if (model.capabilities().has(Feature::kTopLogProbabilities)) generate.top_log_probabilities = 2;
  auto made = model.generate(prompt, generate, stop);
  if (!made) return made.error();
  GreedyAnswer out;
  out.smallest_gap = smallest_gap_of(*made);
  out.text = std::move(made->text);
  out.generated_tokens = made->generated_tokens;
  out.usage = {made->prompt_tokens - std::min(made->cached_tokens, made->prompt_tokens) + made->generated_tokens,
               made->cached_tokens, 1};
  out.prompt_tokens = made->prompt_tokens;
  out.finish = made->finish;
  out.neutralised = std::move(made->neutralised);
  return out;
}

Result<GreedyAnswer> answer_anew(LanguageModel& model, const Prompt& prompt, int max_new_tokens,
                                 const std::stop_token& stop) {
  if (!model.capabilities().has_shared_prefix()) return answer_alone(model, prompt, max_new_tokens, stop);
  const auto tokens = model.tokenize_prompt(prompt);
  if (!tokens) return tokens.error();
  const BatchSequence sequence{tokens->ids, nullptr, true};
  auto batch = model.start_batch({}, std::span(&sequence, 1), stop);
  if (!batch) return batch.error();
  auto runs = generate::run_greedy(model, **batch, 1, max_new_tokens, stop);
  if (!runs) return runs.error();
  auto text = model.detokenize(runs->front().ids);
  if (!text) return text.error();
  GreedyAnswer out = answer_of(runs->front(), *std::move(text), tokens->ids.size());
  out.usage = (*batch)->usage();
  out.usage.calls = 1;
  return out;
}

}  // namespace

Result<GreedyAnswer> answer_prompt(LanguageModel& model, const Prompt& prompt, int max_new_tokens, std::stop_token stop,
                                   AnswerMemory* memory) {
  if (memory != nullptr) {
    if (auto known = memory->find(prompt, max_new_tokens); known) return *std::move(known);
  }
  auto made = answer_anew(model, prompt, max_new_tokens, stop);
  if (made && memory != nullptr) memory->keep(prompt, max_new_tokens, *made);
  return made;
}

Result<IsolatedAnswers> answer_groups(LanguageModel& model, const Question& question,
                                      std::span<const PromptPassage> passages,
                                      std::span<const std::vector<std::size_t>> groups, const RobustOptions& options,
                                      std::stop_token stop) {
  if (Status valid = validate(options); !valid) return valid.error();
  IsolatedAnswers out;
  const bool together = model.capabilities().has_shared_prefix();
  const std::size_t at_once = together ? kGroupsTogether : 1;
  for (std::size_t first = 0; first < groups.size(); first += at_once) {
    const auto some = groups.subspan(first, std::min(at_once, groups.size() - first));
    if (together) {
      const Unanswered left = look_up(question, passages, some, options, out);
      if (Status answered = answer_together(model, question, passages, left, options, stop, out); !answered)
        return answered.error();
      continue;
    }
    out.groups.push_back({some.front()});
    auto made = answer_prompt(model, prompt_of(question, passages, some.front()), options.max_new_tokens, stop,
                              options.answers);
    // Limit: the prompt is larger than the model's context. The other groups answer all the same.
    if (!made && made.error().code == ErrorCode::kLimit) {
      out.groups.back().too_long = true;
      continue;
    }
    if (!made) return Error{made.error().code, "group " + std::to_string(first + 1) + ": " + made.error().message};
    if (made->usage.calls == 0) ++out.remembered;
    take(*std::move(made), out.groups.back(), out);
  }
  for (GroupAnswer& answer : out.groups) interpret(question, options, answer);
  return out;
}

}  // namespace casemate
