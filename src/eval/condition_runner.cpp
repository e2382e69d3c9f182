#include "eval/condition_runner.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "casemate/core/elapsed.h"
#include "casemate/core/statistics.h"

namespace casemate {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Queries between two writes of the log: what a kill loses at most.
constexpr std::size_t kBatch = 32;

/// Verdicts that are logged for one query.
constexpr std::size_t kVerdicts = 40;

/// A query alone may be to blame for these; anything else would hit the others too.
bool is_query_failure(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kModel || code == ErrorCode::kLimit;
}

QueryOutcome outcome_of(const AttackTarget& query, const SearchResult& result,
                        const std::map<std::string_view, std::set<std::string_view>>& planted_for, bool with_verdicts) {
  QueryOutcome out;
  out.query = query.query_id;
  out.gold = query.gold_document;
  const auto own = planted_for.find(query.query_id);
  std::set<std::string_view> seen;
  for (const Hit& hit : result.hits) {
    if (!seen.insert(hit.document).second) continue;
    out.hits.emplace_back(hit.document, hit.candidate.score);
    if (own != planted_for.end() && own->second.contains(hit.document)) out.own_poison.push_back(hit.document);
  }
  if (!with_verdicts) return out;
  for (const StageEvidence& stage : result.evidence.stages) {
    if (stage.stage == "retrieve") continue;  // the ranking says it already
    for (const Verdict& verdict : stage.verdicts) {
      // Of passages that went on, those in the ranking; of the others, the first.
      const bool told = seen.contains(verdict.document) || verdict.decision == Decision::kDropped;
      if (told && out.verdicts.size() < kVerdicts) out.verdicts.emplace_back(stage.stage, verdict);
    }
  }
  return out;
}

}  // namespace

Result<ConditionTimes> run_condition(const ConditionWork& work, LogWriter& log, const ThreadPool& pool,
                                     Progress& progress, std::stop_token stop) {
  std::map<std::string_view, std::set<std::string_view>> planted_for;
  for (const CraftedDocument& document : work.planted) {
    for (const std::string& query : document.target_queries) planted_for[query].insert(document.id);
  }
  QueryOptions options;
  options.top_k = work.top_k;
  options.seed = work.seed;
  ConditionTimes times;
  std::vector<double> milliseconds(work.queries.size(), 0);
  const auto start = SteadyClock::now();
  for (std::size_t first = 0; first < work.queries.size(); first += kBatch) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped; running it again goes on from here"};
    const std::size_t count = std::min(kBatch, work.queries.size() - first);
    std::vector<std::string> lines(count);
    std::vector<std::optional<Error>> errors(count);
    pool.parallel_for(count, [&](std::size_t i, int) {
      const AttackTarget& query = work.queries[first + i];
      const auto begin = SteadyClock::now();
      const auto result = work.pipeline->search(query.query, options, stop);
      milliseconds[first + i] = 1000 * seconds_since(begin);
      QueryOutcome outcome;
      if (result) {
        outcome = outcome_of(query, *result, planted_for, first + i < work.with_verdicts);
        if (!work.judgements.empty()) outcome.judged = work.judgements[first + i];
      } else if (is_query_failure(result.error().code)) {
        outcome.query = query.query_id;
        outcome.error = result.error().message;
      } else {
        errors[i] = result.error();
        return;
      }
      lines[i] = log_line(outcome, work.metrics) + "\n";
    });
    std::string text;
    for (std::size_t i = 0; i < count && !errors[i]; ++i) text += lines[i];
    if (Status written = log.append(text); !written) return written.error();
    for (const auto& error : errors) {
      if (error) return *error;
    }
    progress.update(first + count);
  }
  times.queries = work.queries.size();
  times.seconds = seconds_since(start);
  times.p50_ms = percentile(milliseconds, 0.5);
  times.p95_ms = percentile(milliseconds, 0.95);
  return times;
}

}  // namespace casemate
