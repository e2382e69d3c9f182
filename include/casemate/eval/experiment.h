// casemate/eval/experiment.h
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attacks.h"
#include "casemate/core/status.h"
#include "casemate/defend/defences.h"
#include "casemate/eval/data_set.h"

namespace casemate {

/// What is computed for one query from its ranking.
enum class EvalMeasure : std::uint8_t {
  kRecall,       ///< answering passages among the first k, of all there are: 0 or 1 where there is one
  kPrecision,    ///< answering passages among the first k, over k
  kMrr,          ///< 1 / rank of the answering passage, 0 beyond k
  kNdcg,         ///< over the first k
  kAsr,          ///< any planted document is among the first k
  kTargetedAsr,  ///< one that was planted for this query is
  kPoisonShare,  ///< planted documents among the first k, over k
  kSuccess,      ///< 1 where any answering passage is among the first k
  kMap,          ///< average precision over the first k
  kPoisonRank,   ///< 1 / rank of the first planted document, 0 beyond k
};
struct EvalMetric {
  EvalMeasure measure = EvalMeasure::kRecall;
  int k = 5;
};
/// "recall@5", "success@5", "precision@5", "mrr@10", "ndcg@10", "map@10", "asr@5", "targeted-asr@5", "poison-share@5",
/// "poison-rank@5". Error: InvalidOption, naming the nearest one.
[[nodiscard]] Result<EvalMetric> parse_eval_metric(std::string_view name);
[[nodiscard]] std::string eval_metric_name(EvalMetric metric);
/// About what was planted; the others are about answering passages.
[[nodiscard]] bool is_about_poison(EvalMeasure measure) noexcept;
/// The names without depths, in a fixed order.
[[nodiscard]] std::span<const std::string_view> eval_measure_names() noexcept;

/// One attack under one chain of defences.
struct Condition {
  std::string attack;   ///< "none", or as in the experiment: "near-duplicate{rate: 0.05}"
  std::string defence;  ///< "none", or the chain: "ragpart{combination: 1} + suppression"
  std::size_t attack_index = 0;
  std::size_t defence_index = 0;
  [[nodiscard]] std::string name() const { return attack + " / " + defence; }
  /// Name of its log without folder: letters, digits, "-", "_" and "." alone; differs from that of any other.
  [[nodiscard]] std::string file_name() const;
};

/// What to run, as a YAML file says (docs/evaluation.md).
struct Experiment {
  std::string name;  ///< letters, digits, "-" and "_"
  std::string description;
  DataSource data;                                   ///< paths as written; see `find_data`
  std::string encoder;                               ///< a model's name; empty: the program's default
  std::uint64_t seed = 42;                           ///< of everything that is drawn
  int questions = 0;                                 ///< how many are asked, drawn under the seed; 0: all
  int quick_questions = 50;                          ///< the same with --quick
  int top_k = 10;                                    ///< passages that each search returns; in [1, 1000]
  std::vector<EvalMetric> metrics;                   ///< k at most top_k
  std::vector<std::string> attacks;                  ///< as conditions name them; "none" first where it is there
  std::vector<std::vector<DefenceChoice>> defences;  ///< chains; an empty one is "none"

  // Of `kind: reading` alone (reading_experiment.h).
  std::vector<std::string> methods;  ///< how rankings are read; empty: they are not
  int passages = 5;                  ///< that a method reads, the first of a ranking; in [1, 64]
  bool judge = false;                ///< the language model also judges each answer

  int corpus = 0;  ///< passages, those that answer the asked questions among them; 0: all (`shrink_corpus`)

  /// The grid: every attack with every chain, attacks outermost.
  [[nodiscard]] std::vector<Condition> conditions() const;
};

/// Error: those of `YamlValue::parse_file`; InvalidOption and InvalidInput with file, line and field: unknown keys,
/// attacks, defences, metrics and their options name the nearest known one.
[[nodiscard]] Result<Experiment> load_experiment(const std::string& path);
/// The same for text in memory; `name` stands in messages.
[[nodiscard]] Result<Experiment> parse_experiment(std::string_view yaml, std::string_view name);

}  // namespace casemate
