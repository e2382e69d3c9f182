#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "casemate/defend/ragpart_theory.h"
#include "command.h"

namespace casemate::cli {
namespace {

struct TheoryOptions {
  int n_min = 3;
  int n_max = 15;
  int k_min = 3;
  std::vector<int> n_p = {2, 3};
  std::vector<int> n_a = {1};
  double passages = 1e6;
  double flops = 1e9;
  double dimension = 512;
  int cost_n = 5;
  int cost_k = 3;
};

/// The paper's own number of a table, where it prints this one; its tables begin at k = 3.
std::string paper_table(int n_p, int n_a, bool ragpart, const TheoryOptions& options) {
  if (n_a != 1 || (n_p != 2 && n_p != 3) || options.n_min != 3 || options.n_max != 15 || options.k_min != 3) return "";
  const int number = (n_p == 2 ? 2 : 4) + (ragpart ? 1 : 0);
  return " (the paper's table " + std::to_string(number) + ")";
}

/// `rows` are those of one n_p and n_a.
void print_table(const std::vector<RagPartCondition>& rows, bool ragpart, const TheoryOptions& options) {
  std::cout << "\nSufficient condition under " << (ragpart ? "RAGPart" : "the naive baseline")
            << ", n_p = " << rows[0].poisoned_fragments << ", n_a = " << rows[0].adversaries
            << paper_table(rows[0].poisoned_fragments, rows[0].adversaries, ragpart, options) << "\n\n| N\\k |";
  for (int k = options.k_min; k <= options.n_max; ++k) std::cout << ' ' << k << " |";
  std::cout << "\n| --- |";
  for (int k = options.k_min; k <= options.n_max; ++k) std::cout << " --- |";
  std::cout << '\n';
  auto row = rows.begin();
  for (int n = options.n_min; n <= options.n_max; ++n) {
    std::cout << "| " << n << " |";
    for (int k = options.k_min; k <= options.n_max; ++k) {
      const bool there = row != rows.end() && row->fragments == n && row->combination == k;
      if (!there) {
        std::cout << " N/A |";
        continue;
      }
      std::cout << ((ragpart ? row->robust_ragpart : row->robust_naive) ? " ✓ |" : " ✗ |");
      ++row;
    }
    std::cout << '\n';
  }
}

void print_cost(const RagPartCost& cost, const TheoryOptions& options) {
  std::ostringstream out;
  out.precision(3);
  out << "\nCost model (section 6.2), D = " << options.passages << ", N = " << options.cost_n
      << ", k = " << options.cost_k << ", R = " << options.flops << " FLOPs a fragment, n_e = " << options.dimension
      << "\n  naive baseline, embedding      " << cost.naive_embedding << " FLOPs"
      << "\n  RAGPart, embedding             " << cost.ragpart_embedding << " FLOPs ("
      << cost.naive_embedding / cost.ragpart_embedding << " times fewer)"
      << "\n  RAGPart, averaging             " << cost.ragpart_averaging << " FLOPs"
      << "\n  a query, C(N,k) databases      " << cost.query_databases << " FLOPs"
      << "\n  a query, fragments once (ours) " << cost.query_fused << " FLOPs\n";
  std::cout << out.str();
}

nlohmann::ordered_json to_json(const RagPartCondition& row) {
  return {{"N", row.fragments},
          {"k", row.combination},
          {"n_p", row.poisoned_fragments},
          {"n_a", row.adversaries},
          {"combinations", row.combinations},
          {"x_naive", row.x_naive},
          {"x_ragpart", row.x_ragpart},
          {"robust_naive", row.robust_naive},
          {"robust_ragpart", row.robust_ragpart}};
}

nlohmann::ordered_json to_json(const RagPartCost& cost, const TheoryOptions& options) {
  return {{"D", options.passages},
          {"N", options.cost_n},
          {"k", options.cost_k},
          {"R", options.flops},
          {"n_e", options.dimension},
          {"naive_embedding_flops", cost.naive_embedding},
          {"ragpart_embedding_flops", cost.ragpart_embedding},
          {"ragpart_averaging_flops", cost.ragpart_averaging},
          {"query_databases_flops", cost.query_databases},
          {"query_fused_flops", cost.query_fused}};
}

Result<std::vector<RagPartCondition>> conditions(int n_p, int n_a, const TheoryOptions& options) {
  std::vector<RagPartCondition> rows;
  for (int n = options.n_min; n <= options.n_max; ++n) {
    // A document of N fragments has no more than N poisoned ones.
    for (int k = options.k_min; k <= n && n_p <= n; ++k) {
      auto row = ragpart_condition(n, k, n_p, n_a);
      if (!row) return row.error();
      rows.push_back(*row);
    }
  }
  if (rows.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "no N in " + std::to_string(options.n_min) + " to " + std::to_string(options.n_max) +
                     " has k >= " + std::to_string(options.k_min) + " and n_p = " + std::to_string(n_p)};
  }
  return rows;
}

int run_ragpart(Context& context, const TheoryOptions& options) {
  if (options.n_min > options.n_max) return context.fail({ErrorCode::kInvalidOption, "--n-min is larger than --n-max"});
  const auto cost = ragpart_cost(options.cost_n, options.cost_k, options.passages, options.flops, options.dimension);
  if (!cost) return context.fail(cost.error());
  std::vector<std::vector<RagPartCondition>> tables;
  for (const int n_a : options.n_a) {
    for (const int n_p : options.n_p) {
      auto rows = conditions(n_p, n_a, options);
      if (!rows) return context.fail(rows.error());
      tables.push_back(*std::move(rows));
    }
  }
  if (context.json) {
    nlohmann::ordered_json out;
    out["rows"] = nlohmann::ordered_json::array();
    for (const auto& rows : tables) {
      for (const RagPartCondition& row : rows) out["rows"].push_back(to_json(row));
    }
    out["assumptions"] = ragpart_theory_assumptions();
    out["condition"] = "robust where x (n_a + 1) < C(N, k), strictly";
    out["cost"] = to_json(*cost, options);
    std::cout << out.dump() << '\n';
    return kDone;
  }
  std::cout << "RAGPart: where the sufficient condition of robustness holds (✓) for N fragments and combinations of k\n"
               "These are promises only as far as all of this holds:\n";
  for (const std::string_view assumption : ragpart_theory_assumptions()) std::cout << "  - " << assumption << '\n';
  for (const auto& rows : tables) {
    print_table(rows, false, options);
    print_table(rows, true, options);
  }
  print_cost(*cost, options);
  return kDone;
}

}  // namespace

std::function<int()> set_up_theory(CLI::App& app, Context& context) {
  const auto options = std::make_shared<TheoryOptions>();
  CLI::App* ragpart = app.add_subcommand("ragpart", "where RAGPart's sufficient condition holds, and what it costs");
  app.require_subcommand(1);
  ragpart->add_option("--n-min", options->n_min, "smallest number of fragments N")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxTheoryFragments));
  ragpart->add_option("--n-max", options->n_max, "largest number of fragments N")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxTheoryFragments));
  ragpart->add_option("--k-min", options->k_min, "smallest combination size k")
      ->capture_default_str()
      ->check(CLI::Range(1, kMaxTheoryFragments));
  ragpart->add_option("--n-p", options->n_p, "poisoned fragments of a planted passage, several with commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(0, kMaxTheoryFragments));
  ragpart->add_option("--n-a", options->n_a, "planted passages, several with commas")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000'000));
  ragpart->add_option("--passages", options->passages, "D of the cost model")->capture_default_str();
  ragpart->add_option("--flops", options->flops, "R of the cost model: FLOPs to embed one fragment")
      ->capture_default_str();
  ragpart->add_option("--dimension", options->dimension, "n_e of the cost model")->capture_default_str();
  ragpart->add_option("--fragments", options->cost_n, "N of the cost model")->capture_default_str();
  ragpart->add_option("--combination", options->cost_k, "k of the cost model")->capture_default_str();
  return [&context, options] { return run_ragpart(context, *options); };
}

}  // namespace casemate::cli
