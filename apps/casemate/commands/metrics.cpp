#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "casemate/eval/compare.h"
#include "casemate/eval/text_scores.h"
#include "casemate/eval/trec.h"
#include "command.h"

namespace casemate::cli {
namespace {

using nlohmann::ordered_json;

struct RankingChoice {
  std::string qrels;
  std::string run;
  std::vector<std::string> metrics;
};

ordered_json named(const std::vector<RankingMetric>& metrics, const std::vector<double>& values) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < metrics.size(); ++i) out[ranking_metric_name(metrics[i])] = values[i];
  return out;
}

int run_ranking(Context& context, const RankingChoice& choice) {
  std::vector<RankingMetric> metrics(default_ranking_metrics().begin(), default_ranking_metrics().end());
  if (!choice.metrics.empty()) metrics.clear();
  for (const std::string& name : choice.metrics) {
    const auto metric = parse_ranking_metric(name);
    if (!metric) return context.fail(metric.error());
    metrics.push_back(*metric);
  }
  const auto qrels = read_qrels(choice.qrels);
  if (!qrels) return context.fail(qrels.error());
  const auto run = read_run(choice.run);
  if (!run) return context.fail(run.error());
  const RankingScores scores = score_run(*qrels, *run, metrics);
  if (scores.missing > 0)
    context.say(std::to_string(scores.missing) + " judged queries are not in the run: they count as 0");
  if (scores.unjudged > 0)
    context.say(std::to_string(scores.unjudged) + " queries of the run have no judgements: they are left out");
  if (context.json) {
    ordered_json per_query = ordered_json::object();
    for (const auto& [query, values] : scores.per_query) per_query[to_valid_utf8(query)] = named(metrics, values);
    std::cout << ordered_json{{"per_query", std::move(per_query)}, {"aggregate", named(metrics, scores.mean)}}.dump()
              << '\n';
    return kDone;
  }
  std::cout << scores.per_query.size() << " judged queries\n" << std::fixed << std::setprecision(4);
  for (std::size_t i = 0; i < metrics.size(); ++i)
    std::cout << std::left << std::setw(12) << ranking_metric_name(metrics[i]) << scores.mean[i] << '\n';
  return kDone;
}

int run_text(Context& context, const std::string& path) {
  const auto pairs = read_text_pairs(path);
  if (!pairs) return context.fail(pairs.error());
  const TextReport report = score_texts(*pairs);
  if (context.json) {
    std::cout << to_json(*pairs, report) << '\n';
    return kDone;
  }
  const TextScores& mean = report.mean;
  std::cout << pairs->size() << " pairs\n" << std::fixed << std::setprecision(4);
  const std::pair<const char*, double> rows[] = {{"exact match", mean.exact_match},
                                                 {"F1", mean.f1},
                                                 {"BLEU", mean.bleu},
                                                 {"BLEU corpus", report.bleu_corpus},
                                                 {"BLEU-1", mean.bleu1},
                                                 {"ROUGE-1", mean.rouge1.f},
                                                 {"ROUGE-2", mean.rouge2.f},
                                                 {"ROUGE-L", mean.rouge_l.f},
                                                 {"edit sim.", mean.eed},
                                                 {"Jaccard", mean.jaccard}};
  for (const auto& [name, value] : rows) std::cout << std::left << std::setw(14) << name << value << '\n';
  return kDone;
}

struct CompareChoice {
  std::string first;
  std::string second;
  std::string metric;
  std::uint64_t seed = 0;
};

/// Of queries that only one of two logs has.
void say_left_out(Context& context, std::size_t only_in_first, std::size_t only_in_second) {
  if (only_in_first + only_in_second == 0) return;
  context.say(std::to_string(only_in_first) + " queries are in the first log alone and " +
              std::to_string(only_in_second) + " in the second: left out");
}

int run_compare(Context& context, const CompareChoice& choice) {
  const auto first = read_per_query(choice.first, choice.metric);
  if (!first) return context.fail(first.error());
  const auto second = read_per_query(choice.second, choice.metric);
  if (!second) return context.fail(second.error());
  const JoinedLogs joined = join_logs(*first, *second);
  const auto compared = compare_paired(joined.first, joined.second, choice.seed);
  if (!compared) return context.fail(compared.error());
  const char* test = compared->binary ? "McNemar, exact" : "paired bootstrap";
  if (context.json) {
    std::cout << ordered_json{{"metric", choice.metric},
                              {"n", compared->queries},
                              {"first", compared->first},
                              {"second", compared->second},
                              {"difference", compared->difference},
                              {"interval", {compared->interval.low, compared->interval.high}},
                              {"test", test},
                              {"p", compared->p},
                              {"discordant", compared->discordant()},
                              {"only_first", compared->only_first},
                              {"only_second", compared->only_second},
                              {"only_in_first", joined.only_in_first},
                              {"only_in_second", joined.only_in_second}}
                     .dump()
              << '\n';
    return kDone;
  }
  std::cout << std::fixed << std::setprecision(4) << choice.metric << " over " << compared->queries
            << " queries: " << compared->first << " and " << compared->second << ", difference " << compared->difference
            << " [" << compared->interval.low << ", " << compared->interval.high << "], p " << std::defaultfloat
            << compared->p << " (" << test << "; " << compared->discordant() << " discordant: " << compared->only_first
            << " better in the first, " << compared->only_second << " in the second)\n";
  say_left_out(context, joined.only_in_first, joined.only_in_second);
  return kDone;
}

int run_agreement(Context& context, const CompareChoice& choice) {
  const auto agreement = compare_rankings(choice.first, choice.second);
  if (!agreement) return context.fail(agreement.error());
  // Null where no query is in both logs.
  const auto interval = wilson_interval(agreement->same_order, agreement->queries);
  if (context.json) {
    std::cout << ordered_json{{"n", agreement->queries},
                              {"same_order", agreement->same_order},
                              {"interval", interval ? ordered_json{interval->low, interval->high} : ordered_json()},
                              {"same_ids", agreement->same_ids},
                              {"shared", agreement->shared},
                              {"only_in_first", agreement->only_in_first},
                              {"only_in_second", agreement->only_in_second}}
                     .dump()
              << '\n';
    return kDone;
  }
  std::cout << std::fixed << std::setprecision(4) << agreement->queries << " queries: the same ranking for "
            << agreement->same_order;
  if (interval) std::cout << " [" << interval->low << ", " << interval->high << "]";
  std::cout << ", the same passages for " << agreement->same_ids << "; share of passages in both " << agreement->shared
            << '\n';
  say_left_out(context, agreement->only_in_first, agreement->only_in_second);
  return kDone;
}

}  // namespace

std::function<int()> set_up_metrics(CLI::App& app, Context& context) {
  app.require_subcommand(1);
  auto ranking = std::make_shared<RankingChoice>();
  CLI::App* rank = app.add_subcommand("ranking", "metrics of a TREC run, ties as trec_eval has them");
  rank->add_option("--qrels", ranking->qrels, "TREC qrels, or BEIR's TSV")->required();
  rank->add_option("--run", ranking->run, "TREC run")->required();
  rank->add_option("--metric", ranking->metrics,
                   "P@k, R@k, Success@k, RR, nDCG, nDCG_exp, AP, the last four also with @k; several with commas "
                   "(default: P@5, R@5, RR, nDCG@10, AP, Success@5)")
      ->delimiter(',');
  auto pairs = std::make_shared<std::string>();
  CLI::App* text = app.add_subcommand("text", "metrics of answers against references");
  text->add_option("pairs", *pairs, "JSON lines {id, prediction, references}")->required();
  auto logs = std::make_shared<CompareChoice>();
  CLI::App* compare = app.add_subcommand("compare", "two per-query logs, with significance");
  compare->add_option("first", logs->first, "JSON lines {query, METRIC}, as eval writes them")->required();
  compare->add_option("second", logs->second, "the same for the other system")->required();
  compare->add_option("--metric", logs->metric, "which number to compare")->required();
  compare->add_option("--seed", logs->seed, "of the bootstrap")->capture_default_str();
  auto rankings = std::make_shared<CompareChoice>();
  CLI::App* agreement =
      app.add_subcommand("agreement", "for how many queries two per-query logs have the same ranking");
  agreement->add_option("first", rankings->first, "JSON lines {query, hits: [[id, score], ...]}, as eval writes them")
      ->required();
  agreement->add_option("second", rankings->second, "the same for the other system")->required();
  return [&context, rank, text, agreement, ranking, pairs, logs, rankings] {
    if (rank->parsed()) return run_ranking(context, *ranking);
    if (agreement->parsed()) return run_agreement(context, *rankings);
    return text->parsed() ? run_text(context, *pairs) : run_compare(context, *logs);
  };
}

}  // namespace casemate::cli
