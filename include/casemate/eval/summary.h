// casemate/eval/summary.h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/statistics.h"
#include "casemate/eval/compare.h"
#include "casemate/eval/experiment.h"

namespace casemate {

/// The mean of one metric under one condition.
struct MetricCell {
  double mean = 0;
  Interval interval;     ///< 95 %
  bool is_rate = false;  ///< every value is 0 or 1: Wilson's interval, else the bootstrap's
};

/// Of an attack that paraphrases (advraggen): success among what is a paraphrase at all.
struct ParaphraseFigures {
  std::size_t documents = 0;
  std::size_t admitted = 0;  ///< paraphrases of the document that do not copy the query, of queries that were answered
  std::size_t found = 0;     ///< of these, among the hits of their query
  ParaphraseRewards before;  ///< means over all documents
  ParaphraseRewards after;
  std::string judge;  ///< encoder that judged likeness to the document
};

struct ConditionSummary {
  Condition condition;
  std::size_t queries = 0;    ///< that gave a ranking
  std::size_t failed = 0;     ///< that did not: in no figure
  std::size_t planted = 0;    ///< documents
  std::size_t fell_back = 0;  ///< of these, plain copies because the attack's change was impossible
  /// Mean similarity of planted documents to what they aim at, where the attack optimises it.
  std::optional<double> similarity{};
  std::vector<MetricCell> cells;  ///< one a metric; empty where no query gave a ranking
  std::optional<ParaphraseFigures> paraphrases{};
};

/// Two conditions over the same queries by one metric; the difference is condition - against.
struct ComparisonRow {
  std::size_t metric = 0;     ///< index into the metrics
  std::size_t condition = 0;  ///< indices into the conditions
  std::size_t against = 0;
  Comparison result;
  double p_holm = 1;  ///< adjusted over all rows of this metric
};

/// What an experiment found. Holds no time and no place, so that the same experiment gives the same bytes.
struct EvalSummary {
  std::string experiment;
  std::string description;
  std::string encoder;
  std::uint64_t seed = 0;
  std::size_t passages = 0;      ///< of the clean corpus
  std::size_t questions = 0;     ///< asked under each condition
  std::size_t of_questions = 0;  ///< that the data set has
  int top_k = 0;
  bool quick = false;
  std::vector<EvalMetric> metrics;
  std::vector<ConditionSummary> conditions;
  std::vector<ComparisonRow> comparisons;
};

[[nodiscard]] std::string to_json(const EvalSummary& summary);      ///< one object, indented
[[nodiscard]] std::string to_csv(const EvalSummary& summary);       ///< one line a condition and metric, with a header
[[nodiscard]] std::string to_markdown(const EvalSummary& summary);  ///< tables for people

}  // namespace casemate
