#include "casemate/defend/rerank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "casemate/encoder/heads.h"
#include "casemate/llm/language_model.h"
#include "defend/candidate_vectors.h"

namespace casemate {
namespace {

/// Passages between two looks at the stop token.
constexpr std::size_t kScoredTogether = 16;

/// How likely the model finds the query as a question about the passage, in nats a token.
Result<double> likelihood(LanguageModel& model, const UntrustedText& query, const UntrustedText& passage,
                          std::stop_token stop) {
  const Prompt prompt = PromptBuilder::chat()
                            .user("Passage: ")
                            .untrusted(passage)
                            .text("\n\nWrite a question that this passage answers.")
                            .build();
  auto framed = model.tokenize_prompt(prompt);
  if (!framed) return framed.error();
  const auto question = model.tokenize(query.for_prompt(), SpecialTokens::kAsText);
  if (!question) return question.error();
  if (question->ids.empty()) return Error{ErrorCode::kInvalidArgument, "rerank: the query has no token"};
  auto score = model.score_continuation(framed->ids, question->ids, stop);
  if (!score) return score.error();
  return -score->loss;
}

}  // namespace

Result<std::unique_ptr<Rerank>> Rerank::create(const RerankOptions& options, const DefenceServices& services) {
  if (Status good = check_range("rerank.pool_size", options.pool_size, 1, 1000); !good) return good.error();
  if (options.by == RerankBy::kCrossEncoder && services.reranker == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "rerank by cross-encoder needs one: import a SequenceClassification folder (casemate models import) "
                 "and name it with --reranker"};
  }
  if (options.by == RerankBy::kLikelihood) {
    if (services.model == nullptr)
      return Error{ErrorCode::kInvalidArgument, "rerank by likelihood needs a language model (--model)"};
    if (Status able = require(*services.model, {Feature::kTokens, Feature::kContinuationLoss}, "rerank"); !able)
      return able.error();
  }
  return std::unique_ptr<Rerank>(new Rerank(options, services));  // private constructor; owned at once
}

Parameters Rerank::parameters() const {
  return {{"pool_size", std::to_string(options_.pool_size)},
          {"by", options_.by == RerankBy::kLikelihood ? "likelihood" : "cross-encoder"},
          {"model", options_.by == RerankBy::kLikelihood ? services_.model->info().name : "cross-encoder"}};
}

int Rerank::pool_size(int top_k) const noexcept { return std::max(top_k, options_.pool_size); }

Result<std::vector<double>> Rerank::scores(const UntrustedText& query, std::span<const PassageCandidate> pool,
                                           std::stop_token stop) const {
  std::vector<double> out;
  if (options_.by == RerankBy::kCrossEncoder) {
    std::vector<std::string_view> texts;
    for (const PassageCandidate& candidate : pool) texts.push_back(candidate.text.bytes());
    // In pieces, so that a stop is seen between them; scores do not depend on what is scored together.
    for (std::size_t first = 0; first < texts.size(); first += kScoredTogether) {
      if (stop.stop_requested()) return cancelled(name());
      const std::size_t count = std::min(kScoredTogether, texts.size() - first);
      const auto scored = services_.reranker->score(query.bytes(), std::span(texts).subspan(first, count));
      if (!scored) return scored.error();
      out.insert(out.end(), scored->begin(), scored->end());
    }
    return out;
  }
  for (const PassageCandidate& candidate : pool) {
    if (stop.stop_requested()) return cancelled(name());
    const auto scored = likelihood(*services_.model, query, candidate.text, stop);
    if (!scored && scored.error().code == ErrorCode::kLimit) {
      out.push_back(-std::numeric_limits<double>::infinity());  // one huge passage must not end every search it is in
      continue;
    }
    if (!scored) return scored.error();
    out.push_back(*scored);
  }
  return out;
}

Result<DefendedRanking> Rerank::rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates, int top_k,
                                     std::stop_token stop) const {
  const auto pool = pool_of(candidates, pool_size(top_k));
  DefendedRanking ranking;
  if (pool.empty()) return ranking;
  const auto by = scores(query.text, pool, std::move(stop));
  if (!by) return by.error();
  std::vector<std::size_t> order(pool.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return (*by)[a] > (*by)[b]; });
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t i = order[place];
    const bool unread = std::isinf((*by)[i]);
    const bool in = !unread && place < static_cast<std::size_t>(top_k);
    const Decision decision = !in ? Decision::kDropped : place == i ? Decision::kKept : Decision::kMoved;
    Verdict verdict =
        verdict_of(pool[i], decision,
                   "rank " + std::to_string(i + 1) + " before, " + std::to_string(place + 1) + " by the second model");
    if (unread) {
      verdict.reason = "does not fit the language model, so it could not be judged";
    } else {
      verdict.score = (*by)[i];
    }
    ranking.verdicts.push_back(std::move(verdict));
    if (in) ranking.passages.push_back({i, (*by)[i]});
  }
  return ranking;
}

}  // namespace casemate
