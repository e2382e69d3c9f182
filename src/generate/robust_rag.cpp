#include "casemate/generate/robust_rag.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "casemate/core/nearest_name.h"
#include "generate/decoding.h"

namespace casemate {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"voting", "keyword", "decoding"};

Error out_of_range(std::string_view field, const std::string& value, std::string_view range) {
  return {ErrorCode::kInvalidOption, std::string(field) + " is " + value + "; it must be " + std::string(range)};
}

void add_usage(LlmUsage& sum, const LlmUsage& more) {
  sum.decoded_tokens += more.decoded_tokens;
  sum.reused_tokens += more.reused_tokens;
  sum.calls += more.calls;
}

/// The last prompt of an answer: the hints, or the question alone.
Status answer_last(LanguageModel& model, const Prompt& prompt, const RobustOptions& options,
                   const std::stop_token& stop, RobustAnswer& answer) {
  auto made = answer_prompt(model, prompt, options.max_new_tokens, stop, options.answers);
  if (!made) return made.error();
  answer.text = std::move(made->text);
  answer.second_prompt_gap = made->smallest_gap;
  answer.finish = made->finish;
  answer.generated_tokens += made->generated_tokens;
  answer.prompt_tokens += made->prompt_tokens;
  add_usage(answer.usage, made->usage);
  if (made->usage.calls == 0) ++answer.remembered;
  for (NeutralisedString& each : made->neutralised) answer.neutralised.push_back(std::move(each));
  return {};
}

Status vote(LanguageModel& model, const Question& question, const RobustOptions& options, const std::stop_token& stop,
            RobustAnswer& answer) {
  for (std::size_t i = 0; i < question.options.size(); ++i) answer.votes[i] = 0;
  for (const GroupAnswer& group : answer.groups) {
    if (group.option) ++answer.votes[*group.option];
  }
  // Options are in the order of their letters, so the first of equal ones wins.
  const auto best = std::max_element(answer.votes.begin(), answer.votes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best->second > 0) {
    answer.text = UntrustedText(option_letter(best->first));
    return {};
  }
  answer.from_passages = false;
  return answer_last(model, no_retrieval_prompt(question), options, stop, answer);
}

Status agree_on_keywords(LanguageModel& model, const Question& question, const RobustOptions& options,
                         const std::stop_token& stop, RobustAnswer& answer) {
  std::vector<std::set<std::string>> sets;
  for (const GroupAnswer& group : answer.groups) {
    if (!group.abstains) sets.push_back(group.keywords);
  }
  answer.counts = count_keywords(sets);
  if (!sets.empty())
    answer.hints = keep_keywords(answer.counts, options.threshold.least_count(static_cast<std::int64_t>(sets.size())));
  answer.from_passages = !answer.hints.empty();
  return answer_last(model, answer_from_hints_prompt(question, answer.hints), options, stop, answer);
}

}  // namespace

std::string_view aggregation_name(Aggregation method) noexcept { return kNames.at(static_cast<std::size_t>(method)); }

Result<Aggregation> find_aggregation(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<Aggregation>(found - kNames.begin());
  return Error{ErrorCode::kNotFound,
               "there is no aggregation \"" + std::string(name.substr(0, 60)) + "\"" + name_hint(name, kNames)};
}

KeywordsOf keywords_by(const KeywordExtractor& extractor) {
  return [&extractor](const std::string& answer) {
    std::set<std::string> out;
    for (std::string& keyword : extractor.extract(answer).keywords) {
      if (!is_stop_or_punctuation(keyword)) out.insert(std::move(keyword));
    }
    return out;
  };
}

RobustOptions robust_options(Aggregation method, AnswerTask task) {
  RobustOptions out;
  out.method = method;
  if (task == AnswerTask::kMultipleChoice) out.max_new_tokens = 8;
  if (task == AnswerTask::kLongText) {
    out.max_new_tokens = 500;
    out.threshold = {*Decimal::parse("0.4"), *Decimal::parse("4")};
    out.min_phrase_words = 2;
    out.eta = 1;
  }
  return out;
}

Status validate(const RobustOptions& options) {
  if (options.group_size < 1) return out_of_range("group_size", std::to_string(options.group_size), "at least 1");
  if (options.max_new_tokens < 1)
    return out_of_range("max_new_tokens", std::to_string(options.max_new_tokens), "at least 1");
  if (auto threshold = KeywordThreshold::create(options.threshold.alpha, options.threshold.beta); !threshold)
    return threshold.error();
  if (options.min_phrase_words < 1) return out_of_range("min_phrase_words", "0", "at least 1");
  if (!(options.eta >= 0) || std::isinf(options.eta))
    return out_of_range("eta", std::to_string(options.eta), "at least 0 and finite");
  if (!(options.gamma > 0 && options.gamma <= 1))
    return out_of_range("gamma", std::to_string(options.gamma), "above 0 and at most 1");
  if (options.listed_probabilities < 2)
    return out_of_range("listed_probabilities", std::to_string(options.listed_probabilities), "at least 2");
  if (options.method == Aggregation::kKeyword && !options.keywords)
    return Error{ErrorCode::kInvalidOption, "keyword aggregation needs a keyword extractor"};
  return {};
}

Status check_question(const Question& question, std::span<const PromptPassage> passages, const RobustOptions& options) {
  if (passages.empty()) return Error{ErrorCode::kInvalidArgument, "no passages to answer from"};
  const bool choice = question.task == AnswerTask::kMultipleChoice;
  if (choice && (question.options.size() < 2 || question.options.size() > 26))
    return Error{ErrorCode::kInvalidArgument, "a multiple choice needs 2 to 26 options"};
  // Prompts and certificates put each on a line of its own.
  const bool lines = std::any_of(question.options.begin(), question.options.end(), [](const UntrustedText& option) {
    return option.bytes().find_first_of("\r\n") != std::string::npos;
  });
  if (lines) return Error{ErrorCode::kInvalidArgument, "an option may not have line ends"};
  if (options.method == Aggregation::kVoting && !choice) {
    return Error{ErrorCode::kInvalidArgument,
                 "voting needs a multiple choice; use keyword or decoding aggregation for other questions"};
  }
  return {};
}

std::vector<std::vector<std::size_t>> passage_groups(std::size_t passages, int group_size) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < passages; ++i) {
    if (i % static_cast<std::size_t>(group_size) == 0) groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

bool stands_behind(const RobustAnswer& answer, const GroupAnswer& group) {
  if (!answer.from_passages || group.abstains) return false;
  if (group.option) return answer.text.bytes() == option_letter(*group.option);
  for (const std::string& hint : answer.hints) {
    if (group.keywords.contains(hint)) return true;
  }
  return group.agreement > 0.5;
}

Prompt answer_from_hints_prompt(const Question& question, std::span<const std::string> hints) {
  return hints.empty() ? no_retrieval_prompt(question) : hints_prompt(question, hints);
}

Result<RobustAnswer> answer_robustly(LanguageModel& model, const Question& question,
                                     std::span<const PromptPassage> passages, const RobustOptions& options,
                                     std::stop_token stop) {
  if (Status valid = validate(options); !valid) return valid.error();
  if (Status asked = check_question(question, passages, options); !asked) return asked.error();
  if (options.method == Aggregation::kDecoding)
    return generate::answer_by_decoding(model, question, passages, options, stop);
  auto isolated =
      answer_groups(model, question, passages, passage_groups(passages.size(), options.group_size), options, stop);
  if (!isolated) return isolated.error();
  RobustAnswer answer;
  answer.groups = std::move(isolated->groups);
  answer.usage = isolated->usage;
  answer.generated_tokens = isolated->generated_tokens;
  answer.prompt_tokens = isolated->prompt_tokens;
  answer.remembered = isolated->remembered;
  answer.neutralised = std::move(isolated->neutralised);
  const Status aggregated = options.method == Aggregation::kVoting
                                ? vote(model, question, options, stop, answer)
                                : agree_on_keywords(model, question, options, stop, answer);
  if (!aggregated) return aggregated.error();
  return answer;
}

}  // namespace casemate
