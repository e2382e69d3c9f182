// How often cheaper ways of RAGMask rank as the exact method does, and what they compute for that.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "casemate/defend/passage_cache.h"
#include "casemate/defend/ragmask.h"

namespace casemate::bench {

inline constexpr int kScreenedTopK = 5;

/// RAGMask as the policies have it: by deletion, delta a share of the similarity.
inline RagMaskOptions deleting(double delta_relative) {
  RagMaskOptions options;
  options.perturb = MaskAction::kDelete;
  options.delta_relative = delta_relative;
  return options;
}

/// The cheapest of the settings below that ranks like the exact method on 99 of 100 questions.
inline RagMaskOptions screened(RagMaskOptions options, double share) {
  options.examine = MaskExamine::kReachable;
  options.screen = MaskScreen::kGradient;
  options.screen_exact = 10000;
  options.screen_share = share;
  return options;
}

struct Screened {
  std::vector<ChunkId> ranking;
  MaskCosts costs;
  std::size_t tokens = 0;    ///< of the pool's passages that were examined
  std::size_t examined = 0;  ///< passages
  bool bounded = true;       ///< no similarity rose where suspicious pieces were left out
};

/// `Question` is {query, pool}. Exits where the encoder fails.
template <typename Question>
Screened screen(const RagMaskOptions& how, const Encoder& encoder, PassageCache* cache, const Question& question) {
  const auto or_exit = [](auto result) {
    if (result) return *std::move(result);
    std::cerr << result.error().message << '\n';
    std::exit(3);
  };
  const auto defence = or_exit(RagMask::create(how, encoder, cache));
  const MaskReport report = or_exit(how.examine == MaskExamine::kReachable
                                        ? defence->examine_reachable(question.query, question.pool, kScreenedTopK, {})
                                        : defence->examine(question.query, question.pool, {}));
  Screened out;
  out.costs = report.costs;
  std::vector<std::pair<double, ChunkId>> order;
  for (std::size_t i = 0; i < question.pool.size(); ++i) {
    const MaskJudgement& judgement = report.judgements[i];
    order.emplace_back(-judgement.sanitised_similarity, question.pool[i].chunk);
    out.tokens += judgement.tokens;
    out.examined += judgement.examined ? 1 : 0;
    out.bounded = out.bounded && judgement.sanitised_similarity <= judgement.similarity;
  }
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(kScreenedTopK, order.size()); ++i)
    out.ranking.push_back(order[i].second);
  return out;
}

/// One line of JSON for each delta and way. Tokens are those of all forward and of all backward passes, a token of the
/// pool being 1.
template <typename Questions>
void print_screening(const Encoder& encoder, const Questions& questions, PassageCache& cache) {
  double pool_tokens = 0;
  for (const double delta : {0.3, 0.2}) {
    std::vector<std::vector<ChunkId>> exact;
    double forward = 0;
    std::size_t bounded = 0;
    for (const auto& question : questions) {
      // Masked embeddings do not depend on delta: the second one finds them in the cache.
      const Screened found = screen(deleting(delta), encoder, &cache, question);
      exact.push_back(found.ranking);
      forward += static_cast<double>(found.costs.forward_tokens);
      if (delta == 0.3) pool_tokens += static_cast<double>(found.tokens);
      bounded += found.bounded ? 1 : 0;
    }
    std::printf(
        "{\"delta_relative\": %.1f, \"examine\": \"all\", \"screen\": \"none\", \"questions\": %zu, "
        "\"without_a_rise\": %zu, \"forward\": %.2f}\n",
        delta, questions.size(), bounded, forward / pool_tokens);
    std::fflush(stdout);
    for (const double share : {-1.0, 0.0, 0.1, 0.25}) {
      RagMaskOptions options = screened(deleting(delta), std::max(share, 0.0));
      if (share < 0) options.screen = MaskScreen::kNone;
      std::size_t same = 0;
      double examined = 0;
      MaskCosts costs;
      for (std::size_t q = 0; q < questions.size(); ++q) {
        const Screened found = screen(options, encoder, nullptr, questions[q]);
        same += found.ranking == exact[q] ? 1 : 0;
        examined += static_cast<double>(found.examined);
        costs.forward_tokens += found.costs.forward_tokens;
        costs.backward_tokens += found.costs.backward_tokens;
      }
      std::printf(
          "{\"delta_relative\": %.1f, \"examine\": \"reachable\", \"screen\": \"%s\", \"screen_share\": %.2f, "
          "\"same_ranking\": %zu, \"examined\": %.1f, \"forward\": %.2f, \"backward\": %.2f}\n",
          delta, share < 0 ? "none" : "gradient", std::max(share, 0.0), same,
          examined / static_cast<double>(questions.size()), static_cast<double>(costs.forward_tokens) / pool_tokens,
          static_cast<double>(costs.backward_tokens) / pool_tokens);
      std::fflush(stdout);
    }
  }
}

}  // namespace casemate::bench
