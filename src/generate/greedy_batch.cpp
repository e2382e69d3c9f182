#include "generate/greedy_batch.h"

#include <cmath>

namespace casemate::generate {

TopTwo top_two(std::span<const float> log_probabilities) {
  TopTwo out;
  for (std::size_t i = 0; i < log_probabilities.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const auto above = [&](TokenId other) {
      return other < 0 || log_probabilities[i] > log_probabilities[static_cast<std::size_t>(other)];
    };
    if (above(out.first)) {
      out.second = out.first;
      out.first = id;
    } else if (above(out.second)) {
      out.second = id;
    }
  }
  const auto probability = [&](TokenId id) {
    return id < 0 ? 0.0 : std::exp(static_cast<double>(log_probabilities[static_cast<std::size_t>(id)]));
  };
  out.gap = probability(out.first) - probability(out.second);
  return out;
}

Result<std::vector<GreedyRun>> run_greedy(const LanguageModel& model, LlmBatch& batch, std::size_t sequences,
                                          int max_new_tokens, const std::stop_token& stop) {
  std::vector<GreedyRun> out(sequences);
  std::vector<bool> done(sequences, false);
  const std::size_t context = model.info().context_tokens;
  for (int round = 0; round < max_new_tokens; ++round) {
    std::vector<std::size_t> going;
    for (std::size_t i = 0; i < sequences; ++i) {
      if (done[i]) continue;
      const auto next = batch.log_probabilities(i);
      if (!next) return next.error();
      const TopTwo best = top_two(*next);
      out[i].smallest_gap = std::min(out[i].smallest_gap, best.gap);
      if (model.is_end_token(best.first)) {
        out[i].finish = FinishReason::kEnd;
        done[i] = true;
        continue;
      }
      out[i].ids.push_back(best.first);
      if (batch.tokens(i).size() + 1 >= context) done[i] = true;
      if (!done[i]) going.push_back(i);
    }
    if (going.empty() || round + 1 == max_new_tokens) break;
    std::vector<BatchAppend> appends;
    for (const std::size_t i : going) appends.push_back({i, std::span(&out[i].ids.back(), 1)});
    if (Status stepped = batch.append(appends, stop); !stepped) return stepped.error();
  }
  return out;
}

}  // namespace casemate::generate
