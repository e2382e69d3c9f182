// casemate/eval/ranking_metrics.h
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// Grades of judged documents by id; from 1 on a document is relevant. Unjudged ones count as not relevant.
using Judgements = std::map<std::string, int, std::less<>>;
using Qrels = std::map<std::string, Judgements, std::less<>>;  ///< by query id
/// Scores of retrieved documents by id.
using ScoredDocuments = std::map<std::string, double, std::less<>>;
using RetrievalRun = std::map<std::string, ScoredDocuments, std::less<>>;  ///< by query id

enum class RankingMeasure : std::uint8_t {
  kPrecision,         ///< relevant among the first k, divided by k even where fewer were retrieved
  kRecall,            ///< relevant among the first k of all relevant; 0 where none is
  kReciprocalRank,    ///< 1 / rank of the first relevant document, 0 where it is beyond k or absent
  kNdcg,              ///< gain = grade (below 0: 0), discount log2(rank + 1), over the best ranking of all judged
  kNdcgExponential,   ///< the same with gain 2^grade - 1
  kAveragePrecision,  ///< sum of the precision at each relevant document among the first k, over all relevant
  kSuccess,           ///< 1 where any of the first k is relevant
};

struct RankingMetric {
  RankingMeasure measure = RankingMeasure::kRecall;
  int cutoff = 0;  ///< k; 0: the whole ranking (not for precision, recall and success)
};

/// ir-measures' names: "P@5", "R@5", "RR", "RR@10", "nDCG", "nDCG@10", "nDCG_exp@10", "AP", "AP@10", "Success@5".
/// Error: InvalidOption, naming what may stand there.
[[nodiscard]] Result<RankingMetric> parse_ranking_metric(std::string_view name);
[[nodiscard]] std::string ranking_metric_name(RankingMetric metric);
/// P@5, R@5, RR, nDCG@10, AP, Success@5.
[[nodiscard]] std::span<const RankingMetric> default_ranking_metrics() noexcept;

/// Ids in trec_eval's order: score as a 32-bit float, descending; ties by the bytes of the id, descending. Ranks of a
/// file play no part. A score that is not a number ranks last.
[[nodiscard]] std::vector<std::string> trec_order(const ScoredDocuments& documents);

/// The metric of one ranking (ids, best first, each once). In [0, 1].
[[nodiscard]] double ranking_metric(RankingMetric metric, const Judgements& judgements,
                                    std::span<const std::string> ranking);

struct RankingScores {
  std::vector<RankingMetric> metrics;
  std::map<std::string, std::vector<double>> per_query;  ///< every judged query; one value a metric
  std::vector<double> mean;         ///< over every judged query, one missing from the run counting 0 (trec_eval -c)
  std::vector<double> mean_of_run;  ///< over the queries that are in both; 0 where there are none (trec_eval's default)
  std::size_t missing = 0;          ///< judged queries that the run does not have
  std::size_t unjudged = 0;         ///< queries of the run without judgements: ignored
};

[[nodiscard]] RankingScores score_run(const Qrels& qrels, const RetrievalRun& run,
                                      std::span<const RankingMetric> metrics);

}  // namespace casemate
