#include "casemate/eval/ranking_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

struct MeasureName {
  std::string_view name;
  RankingMeasure measure;
  bool needs_cutoff;
};

constexpr std::array kNames = {
    MeasureName{"P", RankingMeasure::kPrecision, true},
    MeasureName{"R", RankingMeasure::kRecall, true},
    MeasureName{"RR", RankingMeasure::kReciprocalRank, false},
    MeasureName{"nDCG", RankingMeasure::kNdcg, false},
    MeasureName{"nDCG_exp", RankingMeasure::kNdcgExponential, false},
    MeasureName{"AP", RankingMeasure::kAveragePrecision, false},
    MeasureName{"Success", RankingMeasure::kSuccess, true},
};

constexpr std::array kDefaults = {
    RankingMetric{RankingMeasure::kPrecision, 5},        RankingMetric{RankingMeasure::kRecall, 5},
    RankingMetric{RankingMeasure::kReciprocalRank, 0},   RankingMetric{RankingMeasure::kNdcg, 10},
    RankingMetric{RankingMeasure::kAveragePrecision, 0}, RankingMetric{RankingMeasure::kSuccess, 5},
};

double discount(std::size_t index) { return 1.0 / std::log2(static_cast<double>(index) + 2.0); }

double gain(RankingMeasure measure, int grade) {
  if (grade <= 0) return 0;
  return measure == RankingMeasure::kNdcg ? static_cast<double>(grade) : std::exp2(grade) - 1.0;
}

double ndcg(RankingMeasure measure, const Judgements& judgements, std::span<const int> grades, std::size_t k) {
  double found = 0;
  for (std::size_t i = 0; i < grades.size(); ++i) found += gain(measure, grades[i]) * discount(i);
  std::vector<int> best;
  for (const auto& [id, grade] : judgements) best.push_back(grade);
  std::sort(best.begin(), best.end(), std::greater<>());
  double ideal = 0;
  for (std::size_t i = 0; i < std::min(k, best.size()); ++i) ideal += gain(measure, best[i]) * discount(i);
  return ideal > 0 ? found / ideal : 0;
}

}  // namespace

std::span<const RankingMetric> default_ranking_metrics() noexcept { return kDefaults; }

Result<RankingMetric> parse_ranking_metric(std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view base = name.substr(0, at);
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [base](const MeasureName& each) { return each.name == base; });
  int cutoff = 0;
  bool good = found != kNames.end() && (at != std::string_view::npos || !found->needs_cutoff);
  if (good && at != std::string_view::npos) {
    const std::string_view digits = name.substr(at + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), cutoff);
    good = error == std::errc() && end == digits.data() + digits.size() && cutoff >= 1;
  }
  if (!good) {
    return Error{ErrorCode::kInvalidOption, "\"" + UntrustedText(std::string(name)).for_log() +
                                                "\" is not a ranking metric; known: P@k, R@k, Success@k, RR, nDCG, "
                                                "nDCG_exp, AP, the last four also with @k, k >= 1"};
  }
  return RankingMetric{found->measure, cutoff};
}

std::string ranking_metric_name(RankingMetric metric) {
  std::string name;
  for (const MeasureName& each : kNames) {
    if (each.measure == metric.measure) name = each.name;
  }
  return metric.cutoff > 0 ? name + "@" + std::to_string(metric.cutoff) : name;
}

std::vector<std::string> trec_order(const ScoredDocuments& documents) {
  std::vector<std::pair<float, std::string_view>> scored;
  scored.reserve(documents.size());
  for (const auto& [id, score] : documents) {
    const auto held = static_cast<float>(score);
    scored.emplace_back(std::isnan(held) ? -std::numeric_limits<float>::infinity() : held, id);
  }
  std::sort(scored.begin(), scored.end(), std::greater<>());
  std::vector<std::string> out;
  out.reserve(scored.size());
  for (const auto& [score, id] : scored) out.emplace_back(id);
  return out;
}

double ranking_metric(RankingMetric metric, const Judgements& judgements, std::span<const std::string> ranking) {
  const std::size_t k =
      metric.cutoff > 0 ? static_cast<std::size_t>(metric.cutoff) : std::numeric_limits<std::size_t>::max();
  std::vector<int> grades;
  for (const std::string& id : ranking.first(std::min(k, ranking.size()))) {
    const auto judged = judgements.find(id);
    grades.push_back(judged == judgements.end() ? 0 : judged->second);
  }
  const auto relevant = static_cast<double>(
      std::count_if(judgements.begin(), judgements.end(), [](const auto& each) { return each.second >= 1; }));
  double hits = 0;
  double precisions = 0;
  double reciprocal = 0;
  for (std::size_t i = 0; i < grades.size(); ++i) {
    if (grades[i] < 1) continue;
    const double rank = static_cast<double>(i) + 1;
    if (hits == 0) reciprocal = 1.0 / rank;
    hits += 1;
    precisions += hits / rank;
  }
  switch (metric.measure) {
    case RankingMeasure::kPrecision:
      return metric.cutoff > 0 ? hits / metric.cutoff : 0;
    case RankingMeasure::kRecall:
      return relevant > 0 ? hits / relevant : 0;
    case RankingMeasure::kReciprocalRank:
      return reciprocal;
    case RankingMeasure::kNdcg:
    case RankingMeasure::kNdcgExponential:
      return ndcg(metric.measure, judgements, grades, k);
    case RankingMeasure::kAveragePrecision:
      return relevant > 0 ? precisions / relevant : 0;
    case RankingMeasure::kSuccess:
      return hits > 0 ? 1 : 0;
  }
  return 0;
}

RankingScores score_run(const Qrels& qrels, const RetrievalRun& run, std::span<const RankingMetric> metrics) {
  RankingScores out;
  out.metrics.assign(metrics.begin(), metrics.end());
  out.mean.assign(metrics.size(), 0);
  out.mean_of_run.assign(metrics.size(), 0);
  std::size_t in_both = 0;
  for (const auto& [query, judgements] : qrels) {
    const auto found = run.find(query);
    const bool missing = found == run.end();
    const std::vector<std::string> ranking = missing ? std::vector<std::string>() : trec_order(found->second);
    std::vector<double>& values = out.per_query[query];
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      values.push_back(ranking_metric(metrics[m], judgements, ranking));
      out.mean[m] += values.back();
    }
    missing ? ++out.missing : ++in_both;
  }
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    if (in_both > 0) out.mean_of_run[m] = out.mean[m] / static_cast<double>(in_both);
    if (!qrels.empty()) out.mean[m] /= static_cast<double>(qrels.size());
  }
  for (const auto& [query, documents] : run) out.unjudged += qrels.contains(query) ? 0 : 1;
  return out;
}

}  // namespace casemate
