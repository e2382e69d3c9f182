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

/// With screening, and of the candidates only those that can be reached.
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

/// One way over all questions.
struct ScreenedSums {
  std::vector<std::vector<ChunkId>> rankings;
  MaskCosts costs;
  std::size_t tokens = 0;
  std::size_t examined = 0;
  std::size_t bounded = 0;  ///< questions without a rise
};

template <typename Questions>
ScreenedSums screen_all(const RagMaskOptions& how, const Encoder& encoder, PassageCache* cache,
                        const Questions& questions) {
  ScreenedSums sums;
  for (const auto& question : questions) {
    Screened found = screen(how, encoder, cache, question);
    sums.rankings.push_back(std::move(found.ranking));
    sums.costs.forward_tokens += found.costs.forward_tokens;
    sums.costs.backward_tokens += found.costs.backward_tokens;
    sums.tokens += found.tokens;
    sums.examined += found.examined;
    sums.bounded += found.bounded ? 1 : 0;
  }
  return sums;
}

/// One line of JSON for each delta and way; `every_share`: also the ways of screening that agree less. Tokens are those
/// of all forward and of all backward passes, a token of the pool being 1. The exact method finds the masked embeddings
/// of the first delta, on which they do not depend, in `cache`, so that its tokens are told for that one alone.
template <typename Questions>
void print_screening(const Encoder& encoder, const Questions& questions, PassageCache& cache, bool every_share) {
  const auto count = static_cast<double>(questions.size());
  double pool = 0;
  for (const double delta : {0.2, 0.3}) {
    const ScreenedSums exact = screen_all(deleting(delta), encoder, &cache, questions);
    std::printf(
        "{\"delta_relative\": %.1f, \"examine\": \"all\", \"screen\": \"none\", \"questions\": %zu, "
        "\"without_a_rise\": %zu",
        delta, questions.size(), exact.bounded);
    if (pool == 0) {
      pool = static_cast<double>(exact.tokens);
      std::printf(", \"forward\": %.2f", static_cast<double>(exact.costs.forward_tokens) / pool);
    }
    std::printf("}\n");
    for (const MaskExamine examine : {MaskExamine::kReachable, MaskExamine::kAll}) {
      for (const double share : {-1.0, 0.0, 0.1, 0.25, 0.5}) {
        const bool gradient = share >= 0;
        if (!gradient && examine == MaskExamine::kAll) continue;  // the exact one
        if (!every_share && (share > 0.1 || examine == MaskExamine::kAll)) continue;
        RagMaskOptions options = screened(deleting(delta), std::max(share, 0.0));
        options.examine = examine;
        if (!gradient) options.screen = MaskScreen::kNone;
        const ScreenedSums found = screen_all(options, encoder, nullptr, questions);
        std::size_t same = 0;
        for (std::size_t q = 0; q < questions.size(); ++q) same += found.rankings[q] == exact.rankings[q] ? 1 : 0;
        std::printf(
            "{\"delta_relative\": %.1f, \"examine\": \"%s\", \"screen\": \"%s\", \"screen_share\": %.2f, "
            "\"same_ranking\": %zu, "
            "\"examined\": %.1f, \"forward\": %.2f, \"backward\": %.2f}\n",
            delta, examine == MaskExamine::kAll ? "all" : "reachable", gradient ? "gradient" : "none",
            std::max(share, 0.0), same, static_cast<double>(found.examined) / count,
            static_cast<double>(found.costs.forward_tokens) / pool,
            static_cast<double>(found.costs.backward_tokens) / pool);
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace casemate::bench
