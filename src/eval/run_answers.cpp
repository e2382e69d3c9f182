#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "casemate/certify/certify_answer.h"
#include "casemate/certify/certify_question.h"
#include "casemate/core/elapsed.h"
#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/data_set.h"
#include "casemate/text/answer_match.h"
#include "eval/answer_judge.h"
#include "eval/answer_log.h"
#include "eval/answer_summary.h"
#include "eval/query_log.h"
#include "eval/robust_parts.h"
#include "eval/run_folder.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

/// What one question gets from a method: the answer and its cost.
struct Answered {
  UntrustedText text;
  FinishReason finish = FinishReason::kEnd;
  LlmUsage usage;
  std::size_t generated_tokens = 0;
  std::optional<RobustAnswer> robust;
  std::size_t remembered = 0;  ///< prompts that an earlier condition had asked
};

class AnswerExperimentRun {
 public:
  AnswerExperimentRun(const AnswerExperiment& experiment, LanguageModel& model, const AnswerRunOptions& options,
                      Progress& progress, std::stop_token stop)
      : experiment_(experiment), model_(model), options_(options), progress_(progress), stop_(std::move(stop)) {}

  Result<AnswerRun> run() {
    if (Status loaded = load(); !loaded) return loaded.error();
    if (Status claimed = claim_folder(); !claimed) return claimed.error();
    if (Status counted = count_done(); !counted) return counted.error();
    // A question at a time, so that what the model read of its passages serves all conditions.
    progress_.begin("questions", items_.size() * conditions_.size(), "answers");
    std::uint64_t reported = 0;
    for (std::size_t q = 0; q < items_.size(); ++q) {
      for (std::size_t c = 0; c < conditions_.size(); ++c) {
        progress_.update(++reported);
        if (conditions_[c].done > q) continue;
        if (Status asked = ask(conditions_[c], items_[q]); !asked) return asked.error();
        ++out_.asked;
      }
    }
    progress_.end();
    if (Status summarised = summarise(); !summarised) return summarised.error();
    return std::move(out_);
  }

 private:
  struct Slot {
    const AnswerMethod* method = nullptr;
    const AnswerAttack* attack = nullptr;
    std::string file;
    std::size_t done = 0;
  };

  [[nodiscard]] std::string path(const std::string& name) const { return join_path(options_.out, name); }

  Status load() {
    auto data = load_answer_set(experiment_.data_format, options_.data,
                                {static_cast<std::size_t>(experiment_.passages), experiment_.seed});
    if (!data) return data.error();
    data_ = *std::move(data);
    for (const std::string& problem : data_.broken) progress_.note("left out: " + problem);
    const int count = options_.quick ? experiment_.quick_questions : experiment_.questions;
    for (const std::size_t index :
         sample_questions(data_.items.size(), static_cast<std::size_t>(count), experiment_.seed)) {
      items_.push_back(data_.items[index]);
      ids_.push_back(items_.back().id);
    }
    for (std::size_t m = 0; m < experiment_.methods.size(); ++m) {
      for (std::size_t a = 0; a < experiment_.attacks.size(); ++a) {
        const Condition name{experiment_.methods[m].name, experiment_.attacks[a].name, m, a};
        conditions_.push_back({&experiment_.methods[m], &experiment_.attacks[a], name.file_name()});
      }
    }
    auto robust = RobustParts::create();
    if (!robust) return robust.error();
    robust_ = *std::move(robust);
    return {};
  }

  Status claim_folder() {
    ordered_json conditions = ordered_json::array();
    for (const Slot& slot : conditions_) conditions.push_back(slot.method->name + " / " + slot.attack->name);
    ordered_json budgets = ordered_json::array();
    for (const CertifyBudget& budget : experiment_.budgets) budgets.push_back(budget.name());
    ordered_json prompts = ordered_json::array();
    for (const AnswerTask task : {AnswerTask::kShortAnswer, AnswerTask::kMultipleChoice})
      prompts.push_back(to_hex(prompt_hash(task)));
    // What an experiment does not use does not stand in its claim, so that older folders stay theirs.
    const bool long_text = std::any_of(experiment_.methods.begin(), experiment_.methods.end(),
                                       [](const auto& method) { return method.task == AnswerTask::kLongText; });
    if (long_text) prompts.push_back(to_hex(prompt_hash(AnswerTask::kLongText)));
    ordered_json claim = ordered_json{{"name", experiment_.name},
                                      {"seed", experiment_.seed},
                                      {"questions", items_.size()},
                                      {"passages", experiment_.passages},
                                      {"conditions", std::move(conditions)},
                                      {"certify", std::move(budgets)},
                                      {"live", experiment_.live},
                                      {"data", to_hex(data_.digest)},
                                      {"model", to_valid_utf8(model_.info().name)},
                                      {"model_hash", model_.info().file_hash},
                                      {"prompts", std::move(prompts)}};
    const AnswerExperiment usual;
    if (experiment_.max_model_calls != usual.max_model_calls) claim["max_model_calls"] = experiment_.max_model_calls;
    if (experiment_.max_steps != usual.max_steps) claim["max_steps"] = experiment_.max_steps;
    return claim_run_folder(options_.out, {"queries", "costs"}, claim.dump(1) + "\n");
  }

  Status count_done() {
    for (Slot& slot : conditions_) {
      const auto done = resume_log(path("queries/" + slot.file + ".jsonl"), ids_);
      if (!done) return done.error();
      slot.done = *done;
      out_.already += *done;
    }
    return {};
  }

  Status ask(const Slot& slot, const AnswerItem& item) {
    cost_.reset();
    auto outcome = outcome_of(slot, item);
    if (!outcome) {
      if (outcome.error().code == ErrorCode::kCancelled) return outcome.error();
      AnswerOutcome failed;
      failed.query = item.id;
      failed.error = outcome.error().message;
      outcome = std::move(failed);
    }
    if (cost_) {
      auto costs = LogWriter::open(path("costs/" + slot.file + ".jsonl"));
      if (!costs) return costs.error();
      if (Status kept = costs->append(cost_line(item.id, *cost_) + "\n"); !kept) return kept;
    }
    auto log = LogWriter::open(path("queries/" + slot.file + ".jsonl"));
    if (!log) return log.error();
    return log->append(log_line(*outcome) + "\n");
  }

  Result<AnswerOutcome> outcome_of(const Slot& slot, const AnswerItem& item) {
    AnswerOutcome out;
    out.query = item.id;
    const auto question = question_of(item, slot.method->task);
    if (!question) return Error{ErrorCode::kInvalidInput, "the question has no options to choose from"};
    const auto passages = passages_under(item, slot.method->task, *slot.attack, experiment_.passages_of(*slot.method));
    if (!passages) return Error{ErrorCode::kInvalidInput, "the question has no wrong answer to aim at"};
    const RobustOptions robust = options_of(*slot.method);
    const auto start = std::chrono::steady_clock::now();
    const auto answered = answer(*slot.method, robust, *question, *passages);
    if (!answered) return answered.error();
    const double seconds = seconds_since(start);
    if (answered->remembered == 0) {
      cost_ = {seconds, static_cast<double>(answered->usage.decoded_tokens),
               static_cast<double>(answered->usage.reused_tokens)};
    }
    out.answer = answered->text.bytes();
    out.declined = is_abstention(out.answer);
    out.valid = question->task == AnswerTask::kMultipleChoice
                    ? out.declined || chosen_option(*question, out.answer).has_value()
                    : !normalize_answer(out.answer).empty() &&
                          (answered->finish == FinishReason::kEnd || question->task == AnswerTask::kLongText);
    if (question->task == AnswerTask::kLongText) out.score = answer_score(item, *question, answered->text);
    out.right = is_right(item, *question, answered->text);
    const bool attacked = slot.attack->kind != AnswerAttack::Kind::kNone;
    if (attacked && out.valid) out.attack_success = attack_succeeded(item, *question, answered->text);
    out.generated_tokens = answered->generated_tokens;
    if (!attacked && answered->robust) {
      if (Status certified = certify(robust, item, *question, *passages, *answered->robust, out); !certified)
        return certified.error();
    }
    return out;
  }

  RobustOptions options_of(const AnswerMethod& method) {
    RobustOptions robust = robust_.into(method.robust);
    robust.trace = experiment_.live;
    return robust;
  }

  Result<Answered> answer(const AnswerMethod& method, const RobustOptions& robust, const Question& question,
                          std::span<const PromptPassage> passages) {
    if (!method.aggregates()) {
      const Prompt prompt =
          method.no_retrieval ? no_retrieval_prompt(question) : all_passages_prompt(question, passages);
      // Not as isolated groups are asked: the model keeps what it read last, and attacks leave most passages in place.
      GenerateOptions generate;
      generate.max_new_tokens = robust.max_new_tokens;
      auto made = model_.generate(prompt, generate, stop_);
      if (!made) return made.error();
      const LlmUsage usage{
          made->prompt_tokens - std::min(made->cached_tokens, made->prompt_tokens) + made->generated_tokens,
          made->cached_tokens, 1};
      return Answered{std::move(made->text), made->finish, usage, made->generated_tokens, std::nullopt};
    }
    auto made = answer_robustly(model_, question, passages, robust, stop_);
    if (!made) return made.error();
    const std::size_t remembered = made->remembered;
    return Answered{made->text, made->finish, made->usage, made->generated_tokens, *std::move(made), remembered};
  }

  Status certify(const RobustOptions& robust, const AnswerItem& item, const Question& question,
                 std::span<const PromptPassage> passages, const RobustAnswer& clean, AnswerOutcome& out) {
    const ScoreAnswer score = [&](const UntrustedText& text) -> Result<double> {
      return answer_score(item, question, text);
    };
    for (const CertifyBudget& budget : experiment_.budgets) {
      if (static_cast<std::size_t>(budget.malicious) > passages.size()) {
        out.certificates.push_back({budget.name(), false, 0, "the question has not so many passages"});
        continue;
      }
      CertifyQuestionOptions certify_options;
      certify_options.max_model_calls = experiment_.max_model_calls;
      certify_options.max_steps = experiment_.max_steps;
      certify_options.malicious = budget.malicious;
      certify_options.threat = budget.threat;
      const auto certified = certify_question(model_, question, passages, robust, certify_options, score, stop_);
      // Too much to look at is no proof, but no failure of the answer either.
      if (!certified && certified.error().code == ErrorCode::kLimit) {
        out.certificates.push_back({budget.name(), false, 0, certified.error().message});
        continue;
      }
      if (!certified) return certified.error();
      out.certificates.push_back({budget.name(), certified->certified, certified->tau, certified->reason});
    }
    if (!experiment_.live) return {};
    const auto live = certify_answer(model_, question, passages, robust, clean, {}, stop_);
    if (!live) return live.error();
    out.live_k_prime = live->k_prime;
    out.live_limited_by = live->limited_by;
    return {};
  }

  Status summarise() {
    std::vector<AnswerConditionLog> logs;
    for (const Slot& slot : conditions_) {
      auto outcomes = read_answer_log(path("queries/" + slot.file + ".jsonl"));
      if (!outcomes) return outcomes.error();
      logs.push_back(
          {slot.method, slot.attack, *std::move(outcomes), read_costs(path("costs/" + slot.file + ".jsonl"))});
    }
    AnswerSummary& summary = out_.summary;
    summary = summarise_answers(experiment_, logs);
    summary.model = to_valid_utf8(model_.info().name);
    summary.questions = items_.size();
    summary.of_questions = data_.items.size();
    summary.quick = options_.quick;
    return write_answer_summary(summary, options_.out);
  }

  const AnswerExperiment& experiment_;
  LanguageModel& model_;
  const AnswerRunOptions& options_;
  Progress& progress_;
  std::stop_token stop_;
  AnswerSet data_;
  std::vector<AnswerItem> items_;
  std::vector<std::string> ids_;
  std::vector<Slot> conditions_;
  RobustParts robust_;
  std::optional<AnswerCost> cost_;  ///< of the last answer, without its certificates; only where all of it was computed
  AnswerRun out_;
};

}  // namespace

Result<AnswerRun> run_answer_experiment(const AnswerExperiment& experiment, LanguageModel& model,
                                        const AnswerRunOptions& options, Progress& progress, std::stop_token stop) {
  return AnswerExperimentRun(experiment, model, options, progress, std::move(stop)).run();
}

}  // namespace casemate
