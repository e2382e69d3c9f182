// How often RAGMask by gradient screening ranks as the exact method does, and what it computes for that.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "casemate/defend/ragmask.h"

namespace casemate::bench {

inline constexpr std::size_t kScreenedTopK = 5;

/// The first passages of a pool by what is left of them, equal ones by chunk id.
inline std::vector<ChunkId> ranked(const std::vector<PassageCandidate>& pool, const MaskReport& report) {
  std::vector<std::pair<double, ChunkId>> order;
  for (std::size_t i = 0; i < pool.size(); ++i)
    order.emplace_back(-report.judgements[i].sanitised_similarity, pool[i].chunk);
  std::sort(order.begin(), order.end());
  std::vector<ChunkId> out;
  for (std::size_t i = 0; i < std::min(kScreenedTopK, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

/// Deletion, delta a fifth of the similarity, no bound on exact segments; one line of JSON for each share of delta.
/// Tokens are those of all forward and of all backward passes, a token of the pool being 1. `Questions`: of
/// {query, pool}.
template <typename Questions>
void print_screening(const Encoder& encoder, const Questions& questions) {
  RagMaskOptions options;
  options.perturb = MaskAction::kDelete;
  options.delta_relative = 0.2;
  const auto examine = [&](const RagMaskOptions& how, const auto& question) {
    const auto defence = RagMask::create(how, encoder, nullptr);
    auto report =
        defence ? (*defence)->examine(question.query, question.pool, {}) : Result<MaskReport>(defence.error());
    if (report) return *std::move(report);
    std::cerr << report.error().message << '\n';
    std::exit(3);
  };
  std::vector<std::vector<ChunkId>> exact;
  double pool_tokens = 0;
  double exact_tokens = 0;
  for (const auto& question : questions) {
    const MaskReport report = examine(options, question);
    exact.push_back(ranked(question.pool, report));
    exact_tokens += static_cast<double>(report.costs.forward_tokens);
    for (const MaskJudgement& each : report.judgements) pool_tokens += static_cast<double>(each.tokens);
  }
  std::printf("{\"screen\": \"none\", \"questions\": %zu, \"forward\": %.2f}\n", questions.size(),
              exact_tokens / pool_tokens);
  options.screen = MaskScreen::kGradient;
  options.screen_exact = 10000;
  for (const double share : {0.5, 0.25, 0.1, 0.05, 0.0}) {
    options.screen_share = share;
    std::size_t same = 0;
    double forward = 0;
    double backward = 0;
    for (std::size_t q = 0; q < questions.size(); ++q) {
      const MaskReport report = examine(options, questions[q]);
      same += ranked(questions[q].pool, report) == exact[q] ? 1 : 0;
      forward += static_cast<double>(report.costs.forward_tokens);
      backward += static_cast<double>(report.costs.backward_tokens);
    }
    std::printf(
        "{\"screen\": \"gradient\", \"screen_share\": %.2f, \"same_ranking\": %zu, \"forward\": %.2f, "
        "\"backward\": %.2f}\n",
        share, same, forward / pool_tokens, backward / pool_tokens);
    std::fflush(stdout);
  }
}

}  // namespace casemate::bench
