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

Status answer_together(LanguageModel& model, const Question& question, std::span<const PromptPassage> passages,
                       std::span<const std::vector<std::size_t>> groups, const RobustOptions& options,
                       const std::stop_token& stop, IsolatedAnswers& out) {
  auto started = generate::start_groups(model, question, passages, groups, options, false, stop);
  if (!started) return started.error();
  const std::size_t first = out.groups.size();
  for (const std::vector<std::size_t>& group : groups) out.groups.push_back({group});
  for (const std::size_t i : started->too_long) out.groups[first + i].too_long = true;
  if (started->batch == nullptr) return {};
  for (std::size_t s = 0; s < started->batch->size(); ++s) out.prompt_tokens += started->batch->tokens(s).size();
  auto runs = generate::run_greedy(model, *started->batch, started->groups.size(), options.max_new_tokens, stop);
  if (!runs) return runs.error();
  for (std::size_t i = 0; i < runs->size(); ++i) {
    GroupAnswer& answer = out.groups[first + started->groups[i]];
    auto text = model.detokenize((*runs)[i].ids);
    if (!text) return text.error();
    answer.text = UntrustedText(*std::move(text));
    answer.smallest_gap = (*runs)[i].smallest_gap;
    out.generated_tokens += (*runs)[i].ids.size();
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

}  // namespace

Result<GreedyAnswer> answer_prompt(LanguageModel& model, const Prompt& prompt, int max_new_tokens,
                                   std::stop_token stop) {
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
  GreedyAnswer out;
  out.text = UntrustedText(*std::move(text));
  out.smallest_gap = runs->front().smallest_gap;
  out.generated_tokens = runs->front().ids.size();
  out.usage = (*batch)->usage();
  out.prompt_tokens = tokens->ids.size();
  out.finish = runs->front().finish;
  return out;
}

Result<IsolatedAnswers> answer_groups(LanguageModel& model, const Question& question,
                                      std::span<const PromptPassage> passages,
                                      std::span<const std::vector<std::size_t>> groups, const RobustOptions& options,
                                      std::stop_token stop) {
  if (Status valid = validate(options); !valid) return valid.error();
  IsolatedAnswers out;
  if (model.capabilities().has_shared_prefix()) {
    for (std::size_t first = 0; first < groups.size(); first += kGroupsTogether) {
      const auto some = groups.subspan(first, std::min(kGroupsTogether, groups.size() - first));
      if (Status answered = answer_together(model, question, passages, some, options, stop, out); !answered)
        return answered.error();
    }
  } else {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<PromptPassage> some;
      for (const std::size_t p : groups[i]) some.push_back(passages[p]);
      auto made = answer_alone(model, isolated_prompt(question, some).prompt, options.max_new_tokens, stop);
      GroupAnswer answer;
      answer.passages = groups[i];
      // Limit: the prompt is larger than the model's context. The other groups answer all the same.
      if (!made && made.error().code == ErrorCode::kLimit) {
        answer.too_long = true;
        out.groups.push_back(std::move(answer));
        continue;
      }
      if (!made) return Error{made.error().code, "group " + std::to_string(i + 1) + ": " + made.error().message};
      answer.text = std::move(made->text);
      answer.smallest_gap = made->smallest_gap;
      out.groups.push_back(std::move(answer));
      out.generated_tokens += made->generated_tokens;
      out.prompt_tokens += made->prompt_tokens;
      out.usage.decoded_tokens += made->usage.decoded_tokens;
      out.usage.reused_tokens += made->usage.reused_tokens;
      ++out.usage.calls;
      std::move(made->neutralised.begin(), made->neutralised.end(), std::back_inserter(out.neutralised));
    }
  }
  for (GroupAnswer& answer : out.groups) interpret(question, options, answer);
  return out;
}

}  // namespace casemate
