// casemate/eval/run_record.h
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/statistics.h"
#include "casemate/core/status.h"
#include "casemate/eval/compare.h"

namespace casemate {

// A finished run, read back from its folder: one form for every kind of experiment, which reports, gates and exports
// work on. All texts are valid UTF-8 and untrusted: whoever shows them escapes them.

enum class MetricSense : std::uint8_t { kHigherIsBetter, kLowerIsBetter, kNeither };
/// By the metric's name ("asr@5", "right"); what is not known counts as better where it is higher.
[[nodiscard]] MetricSense metric_sense(std::string_view metric);

/// The mean of one metric under one condition.
struct RunFigure {
  double value = 0;
  std::optional<Interval> interval;  ///< 95 %
  std::uint64_t of = 0;              ///< queries that it is over
  bool is_rate = false;              ///< Wilson's interval, else the bootstrap's
};

/// One attack under one defence (of an experiment about answers: method).
struct RunCondition {
  std::string attack;
  std::string defence;
  std::string log;  ///< of its queries, relative to the folder; empty where the run says none
  std::uint64_t queries = 0;
  std::uint64_t failed = 0;
  std::uint64_t planted = 0;
  std::map<std::string, RunFigure, std::less<>> figures;  ///< by metric
  [[nodiscard]] std::string name() const { return attack + " / " + defence; }
};

/// Two conditions over the same queries by one metric; the difference is condition - against.
struct RunDifference {
  std::string metric;
  std::string condition;
  std::string against;
  Comparison result;
  double p_adjusted = 1;  ///< by Holm over all rows of this metric
};

/// What an experiment about answers certified.
struct RunCertified {
  std::string method;
  std::string budget;
  RunFigure share;
  std::uint64_t tried = 0;
  std::uint64_t broken = 0;
};

/// A figure that a paper printed, to stand beside ours: of other models and another corpus.
struct PublishedFigure {
  std::string attack;
  std::string defence;
  std::string metric;
  double value = 0;
  std::string source;  ///< "RAGPart and RAGMask, table 8, GTE Large, NQ"
};

struct RunRecord {
  std::string folder;
  std::string name;
  std::string description;
  std::string kind;                                        ///< "ranking", "answers", or what the summary says
  std::vector<std::pair<std::string, std::string>> facts;  ///< what was run: models, seed, sizes, in order
  std::vector<std::string> metrics;
  std::vector<std::string> attacks;   ///< in order
  std::vector<std::string> defences;  ///< in order
  std::vector<RunCondition> conditions;
  std::vector<RunDifference> differences;
  std::vector<RunCertified> certified;
  std::vector<PublishedFigure> published;
  [[nodiscard]] const RunCondition* find(std::string_view attack, std::string_view defence) const;
};

/// Reads `folder`/summary.json, and published.json where there is one. Differences that the summary does not have are
/// computed from the logs. Error: NotFound where the folder holds no summary (says how to make it); InvalidInput with
/// the path where it is not one; what logs say.
[[nodiscard]] Result<RunRecord> read_run_record(const std::string& folder);

/// Conditions that two runs share, compared query by query, first to second: `condition` is the second run's.
/// Queries that are in both logs count. Error: what logs say.
[[nodiscard]] Result<std::vector<RunDifference>> compare_runs(const RunRecord& first, const RunRecord& second);

}  // namespace casemate
