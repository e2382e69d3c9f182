// src/eval/query_log.h
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/experiment.h"
#include "casemate/eval/ranking_metrics.h"
#include "casemate/pipeline/pipeline.h"

namespace casemate {

/// What one query gave under one condition.
struct QueryOutcome {
  std::string query;
  std::string gold;
  std::vector<std::pair<std::string, double>> hits;  ///< document and score, best first, each document once
  std::vector<std::string> own_poison;               ///< of the hits, those planted for this query
  std::string error;                                 ///< why it failed; empty where it did not
  /// What defences decided, with their stage: of the first queries of a condition alone, since it is much.
  std::vector<std::pair<std::string, Verdict>> verdicts{};
  Judgements judged{};  ///< where several documents answer: each by grade; `gold` is then the best
};

/// Value of each of `metrics`, from the ranking alone. Of a failed query: none.
[[nodiscard]] std::vector<double> metric_values(const QueryOutcome& outcome, std::span<const EvalMetric> metrics);

/// One line of a log, without its end.
[[nodiscard]] std::string log_line(const QueryOutcome& outcome, std::span<const EvalMetric> metrics);

/// Queries of a condition's log that are done: the longest prefix of whole lines about `queries`, in their order. What
/// follows a torn line is cut off the file. 0 where there is no file. Error: Mismatch where the log is about other
/// queries; Io.
[[nodiscard]] Result<std::size_t> resume_log(const std::string& path, std::span<const std::string> queries);

/// Appends to a log; a kill tears at most the last line.
class LogWriter {
 public:
  /// Error: Io, NoSpace, Permission.
  [[nodiscard]] static Result<LogWriter> open(const std::string& path);
  /// `lines` end with line feeds. Error: as above.
  [[nodiscard]] Status append(const std::string& lines);

 private:
  struct Closer {
    void operator()(std::FILE* file) const;
  };
  LogWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

/// A condition's log as numbers.
struct LoggedValues {
  std::vector<std::string> queries;         ///< those that did not fail, in order
  std::vector<std::vector<double>> values;  ///< by metric, one a query
  std::size_t failed = 0;
};
/// Error: InvalidInput with path and line; NotFound.
[[nodiscard]] Result<LoggedValues> read_log(const std::string& path, std::span<const EvalMetric> metrics);

}  // namespace casemate
