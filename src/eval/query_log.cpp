#include "eval/query_log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "casemate/attack/attack.h"
#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

bool is_planted(std::string_view document) { return document.starts_with(kAttackIdPrefix); }

double value_of(EvalMetric metric, const QueryOutcome& outcome, const Judgements& gold,
                std::span<const std::string> ranking) {
  const auto depth = std::min(static_cast<std::size_t>(metric.k), ranking.size());
  const auto first = ranking.first(depth);
  switch (metric.measure) {
    case EvalMeasure::kRecall:
      return ranking_metric({RankingMeasure::kRecall, metric.k}, gold, ranking);
    case EvalMeasure::kPrecision:
      return ranking_metric({RankingMeasure::kPrecision, metric.k}, gold, ranking);
    case EvalMeasure::kMrr:
      return ranking_metric({RankingMeasure::kReciprocalRank, metric.k}, gold, ranking);
    case EvalMeasure::kNdcg:
      return ranking_metric({RankingMeasure::kNdcg, metric.k}, gold, ranking);
    case EvalMeasure::kAsr:
      return std::any_of(first.begin(), first.end(), is_planted) ? 1 : 0;
    case EvalMeasure::kTargetedAsr:
      return std::any_of(first.begin(), first.end(),
                         [&outcome](const std::string& id) {
                           return std::find(outcome.own_poison.begin(), outcome.own_poison.end(), id) !=
                                  outcome.own_poison.end();
                         })
                 ? 1
                 : 0;
    case EvalMeasure::kPoisonShare:
      return static_cast<double>(std::count_if(first.begin(), first.end(), is_planted)) / metric.k;
    case EvalMeasure::kSuccess:
      return ranking_metric({RankingMeasure::kSuccess, metric.k}, gold, ranking);
    case EvalMeasure::kMap:
      return ranking_metric({RankingMeasure::kAveragePrecision, metric.k}, gold, ranking);
    case EvalMeasure::kPoisonRank: {
      const auto planted = std::find_if(first.begin(), first.end(), is_planted);
      return planted == first.end() ? 0 : 1.0 / static_cast<double>(planted - first.begin() + 1);
    }
  }
  return 0;
}

}  // namespace

std::vector<double> metric_values(const QueryOutcome& outcome, std::span<const EvalMetric> metrics) {
  std::vector<double> out;
  if (!outcome.error.empty()) return out;
  const Judgements gold = outcome.judged.empty() ? Judgements{{outcome.gold, 1}} : outcome.judged;
  std::vector<std::string> ranking;
  for (const auto& [document, score] : outcome.hits) ranking.push_back(document);
  for (const EvalMetric metric : metrics) out.push_back(value_of(metric, outcome, gold, ranking));
  return out;
}

namespace {

nlohmann::ordered_json verdict_json(const std::string& stage, const Verdict& verdict) {
  nlohmann::ordered_json out = {
      {"document", to_valid_utf8(verdict.document)}, {"stage", stage}, {"decision", decision_name(verdict.decision)}};
  if (!verdict.reason.empty()) out["reason"] = to_valid_utf8(verdict.reason);
  if (verdict.score) out["score"] = *verdict.score;
  if (verdict.threshold) out["threshold"] = *verdict.threshold;
  for (const auto& [name, value] : verdict.measures) out["measures"][name] = value;
  for (const CharacterSpan& span : verdict.masked) out["masked"].push_back({span.begin, span.end});
  return out;
}

}  // namespace

std::string log_line(const QueryOutcome& outcome, std::span<const EvalMetric> metrics) {
  nlohmann::ordered_json line = {{"query", to_valid_utf8(outcome.query)}};
  if (!outcome.error.empty()) {
    line["error"] = to_valid_utf8(outcome.error);
    return line.dump();
  }
  nlohmann::ordered_json values = nlohmann::ordered_json::object();
  const std::vector<double> computed = metric_values(outcome, metrics);
  for (std::size_t i = 0; i < metrics.size(); ++i) values[eval_metric_name(metrics[i])] = computed[i];
  nlohmann::ordered_json hits = nlohmann::ordered_json::array();
  for (const auto& [document, score] : outcome.hits) hits.push_back({to_valid_utf8(document), score});
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const std::string& document : outcome.own_poison) own.push_back(to_valid_utf8(document));
  line["metrics"] = std::move(values);
  line["gold"] = to_valid_utf8(outcome.gold);
  if (!outcome.judged.empty()) {
    for (const auto& [document, grade] : outcome.judged) line["judged"][to_valid_utf8(document)] = grade;
  }
  line["hits"] = std::move(hits);
  line["own_poison"] = std::move(own);
  for (const auto& [stage, verdict] : outcome.verdicts) line["verdicts"].push_back(verdict_json(stage, verdict));
  return line.dump();
}

Result<std::size_t> resume_log(const std::string& path, std::span<const std::string> queries) {
  const auto content = read_file(path);
  if (!content) {
    if (content.error().code == ErrorCode::kNotFound) return std::size_t{0};
    return content.error();
  }
  std::size_t done = 0;
  std::size_t kept = 0;
  for (std::size_t end = content->find('\n'); end != std::string::npos; end = content->find('\n', kept)) {
    const auto line = nlohmann::json::parse(content->substr(kept, end - kept), nullptr, false);
    // A power cut can leave blocks of zeros before a line end.
    if (!line.is_object() || !line.contains("query")) break;
    if (done == queries.size() || line["query"] != to_valid_utf8(queries[done])) {
      return Error{ErrorCode::kMismatch, path + ":" + std::to_string(done + 1) +
                                             ": the log is about other queries; use another --out folder"};
    }
    ++done;
    kept = end + 1;
  }
  if (kept < content->size()) {
    std::error_code error;
    std::filesystem::resize_file(path, kept, error);
    if (error) return io_error(error.value(), "cut", path);
  }
  return done;
}

void LogWriter::Closer::operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }

Result<LogWriter> LogWriter::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "ab");
  if (file == nullptr) return io_error(errno, "open", path);
  return LogWriter(path, file);
}

Status LogWriter::append(const std::string& lines) {
  const bool written = std::fwrite(lines.data(), 1, lines.size(), file_.get()) == lines.size();
  if (!written || std::fflush(file_.get()) != 0) return io_error(errno, "write", path_);
  return {};
}

Result<LoggedValues> read_log(const std::string& path, std::span<const EvalMetric> metrics) {
  LoggedValues out;
  out.values.resize(metrics.size());
  std::vector<std::string> names;
  for (const EvalMetric metric : metrics) names.push_back(eval_metric_name(metric));
  const Status read = each_json_line(path, [&](const nlohmann::json& line, std::size_t) -> std::string {
    if (line.contains("error")) {
      ++out.failed;
      return {};
    }
    const auto query = line.find("query");
    const auto values = line.find("metrics");
    if (query == line.end() || !query->is_string() || values == line.end()) return "is no line of a query log";
    for (std::size_t m = 0; m < names.size(); ++m) {
      const auto value = values->find(names[m]);
      if (value == values->end() || !value->is_number()) return "there is no number \"" + names[m] + "\"";
      out.values[m].push_back(value->get<double>());
    }
    out.queries.push_back(query->get<std::string>());
    return {};
  });
  if (!read) return read.error();
  return out;
}

}  // namespace casemate
