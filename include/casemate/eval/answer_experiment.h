// casemate/eval/answer_experiment.h
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/certify/benign_cases.h"
#include "casemate/core/progress.h"
#include "casemate/core/statistics.h"
#include "casemate/core/status.h"
#include "casemate/core/yaml_options.h"
#include "casemate/generate/robust_rag.h"

namespace casemate {

/// How a question is answered: "vanilla", "no-retrieval", or an aggregation with its options, all with
/// `task: short-answer | multiple-choice | long-text`, `passages` and `max_new_tokens`.
struct AnswerMethod {
  std::string name;           ///< as written: "keyword{group_size: 2}"
  bool vanilla = false;       ///< all passages in one prompt
  bool no_retrieval = false;  ///< no passage at all
  AnswerTask task = AnswerTask::kShortAnswer;
  RobustOptions robust;  ///< of an aggregation; its `keywords` are set by the runner
  int passages = 0;      ///< k of this method, at most the experiment's; 0: the experiment's
  [[nodiscard]] bool aggregates() const noexcept { return !vanilla && !no_retrieval; }
};
/// Error: InvalidOption, naming the nearest method or option.
[[nodiscard]] Result<AnswerMethod> parse_answer_method(std::string_view text);

/// What is put among the passages: "none", "pia", "poison", with `place: last | first` and `count`.
struct AnswerAttack {
  std::string name;  ///< as written
  enum class Kind : std::uint8_t { kNone, kInjection, kLie } kind = Kind::kNone;
  bool first = false;  ///< at the first rank, else at the last; the last clean passages fall out
  int count = 1;       ///< malicious passages; in [1, 10]
};
/// Error: as above.
[[nodiscard]] Result<AnswerAttack> parse_answer_attack(std::string_view text);

/// A budget that certificates are computed for.
struct CertifyBudget {
  int malicious = 1;
  PassageThreat threat = PassageThreat::kInjection;
  [[nodiscard]] std::string name() const;  ///< "injection 1"
};

/// An experiment about answers: questions that come with passages, methods by attacks, certificates
/// (docs/evaluation.md). Its YAML file says `kind: answers`.
struct AnswerExperiment {
  std::string name;
  std::string description;
  std::string data_format = "realtimeqa";
  std::string data_path;
  std::uint64_t seed = 42;  ///< of the sample of questions
  int questions = 0;        ///< 0: all
  int quick_questions = 5;
  int passages = 10;  ///< k, the first so many of each question; in [1, 64]
  std::vector<AnswerMethod> methods;
  std::vector<AnswerAttack> attacks;
  std::vector<CertifyBudget> budgets;  ///< of certificates over the data set
  bool live = false;                   ///< also certify each answer without knowing the right one
  std::int64_t max_model_calls = 64;   ///< of one case of a certificate by keywords; in [1, 2^14]
  std::int64_t max_steps = 1024;       ///< of one case of a certificate by decoding; in [1, 10^6]
  /// k of a method.
  [[nodiscard]] int passages_of(const AnswerMethod& method) const noexcept {
    return method.passages > 0 ? method.passages : passages;
  }
};

/// True where a YAML file's `kind` is "answers".
[[nodiscard]] bool is_answer_experiment(const YamlValue& root);
/// Error: InvalidOption and InvalidInput with file, line and field.
[[nodiscard]] Result<AnswerExperiment> read_answer_experiment(const YamlValue& root);

struct AnswerRunOptions {
  std::string data;
  std::string out;
  bool quick = false;
};

/// A share of questions with Wilson's 95 % interval.
struct Share {
  std::uint64_t count = 0;
  std::uint64_t of = 0;
  [[nodiscard]] std::optional<Interval> interval() const { return wilson_interval(count, of); }
  [[nodiscard]] double rate() const { return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of); }
};

/// A mean over questions with its 95 % interval: Wilson's where every value is 0 or 1, else the bootstrap's.
struct MeanScore {
  double mean = 0;
  Interval interval;
  bool is_rate = false;
  std::uint64_t of = 0;
};

/// One method under one attack.
struct AnswerCondition {
  std::string method;
  std::string attack;
  Share right;           ///< of all questions
  Share attack_success;  ///< the wrong answer is in the answer; of the questions where that can be judged
  Share valid;           ///< the answer is not empty and was not cut short
  Share declined;
  double tokens = 0;                 ///< computed for a question, mean
  double seconds = 0;                ///< a question, median; of this machine, at the load that it had
  std::size_t timed = 0;             ///< questions behind the two: those where all was computed and nothing remembered
  std::optional<MeanScore> score{};  ///< long text: share of the facts that the answer holds
};

/// Certificates of one method.
struct CertifiedShare {
  std::string method;
  std::string budget;        ///< "injection 1", or "live 1": k' >= 1 without knowing the right answer
  Share certified;           ///< certified as right (tau = 1), of long text tau > 0; live: certified, right or not
  std::uint64_t broken = 0;  ///< of these, questions where an attack within the budget changed the answer: must be 0
  std::uint64_t tested = 0;  ///< attacks within the budget that were tried on certified questions
  std::optional<MeanScore> tau{};  ///< long text: the least score that the attacker can bring about, 0 uncertified
};

struct AnswerSummary {
  std::string experiment;
  std::string description;
  std::string model;
  std::uint64_t seed = 0;
  int passages = 0;
  std::size_t questions = 0;
  std::size_t of_questions = 0;
  bool quick = false;
  std::vector<AnswerCondition> conditions;
  std::vector<CertifiedShare> certified;
};

[[nodiscard]] std::string to_json(const AnswerSummary& summary);
[[nodiscard]] std::string to_csv(const AnswerSummary& summary);
/// `with_costs`: also what an answer took, which differs from run to run.
[[nodiscard]] std::string to_markdown(const AnswerSummary& summary, bool with_costs = false);

struct AnswerRun {
  std::size_t asked = 0;
  std::size_t already = 0;
  AnswerSummary summary;
};

/// Answers every question by every method under every attack, and certifies the clean ones. Writes into `out`:
/// experiment.json, queries/CONDITION.jsonl (one line a question, the same bytes on every run),
/// costs/CONDITION.jsonl
/// (seconds and tokens of the answers that were computed whole, which differ from run to run), summary.json,
/// summary.csv and summary.md. After a kill or a stop the same call goes on behind the last logged line. States of
/// passages are kept over the conditions of a question, and an isolated prompt that several conditions or certificates
/// ask goes through the model once. Error: Mismatch for a folder of another run; what data, model and methods say;
/// Cancelled.
[[nodiscard]] Result<AnswerRun> run_answer_experiment(const AnswerExperiment& experiment, LanguageModel& model,
                                                      const AnswerRunOptions& options, Progress& progress,
                                                      std::stop_token stop);

}  // namespace casemate
