#include "encoder/transformer_parts.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "encoder/kernels.h"

namespace casemate {

std::optional<Error> check_input(const ModelConfig& config, std::size_t index, const TransformerInput& input) {
  const auto bad = [index](const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, "input " + std::to_string(index) + ": " + what};
  };
  if (input.ids.empty()) return bad("no tokens");
  if (input.ids.size() > static_cast<std::size_t>(config.max_positions)) {
    return bad(std::to_string(input.ids.size()) + " tokens, the model takes " + std::to_string(config.max_positions));
  }
  if (!input.token_types.empty() && input.token_types.size() != input.ids.size())
    return bad("token types and ids differ in number");
  for (const TokenId id : input.ids) {
    if (id < 0 || id >= config.vocabulary) return bad("token id " + std::to_string(id) + " is outside the vocabulary");
  }
  for (const TokenId type : input.token_types) {
    if (type < 0 || type >= std::max(config.token_types, 1))
      return bad("token type " + std::to_string(type) + " is not known");
  }
  return std::nullopt;
}

void sum_embeddings(const ModelConfig& config, const TransformerWeights& weights, const TransformerInput& input,
                    float* out) {
  const auto hidden = static_cast<std::size_t>(config.hidden);
  for (std::size_t t = 0; t < input.ids.size(); ++t) {
    const float* word = weights.word_embeddings.data() + static_cast<std::size_t>(input.ids[t]) * hidden;
    const float* position =
        weights.position_embeddings.data() + (t + static_cast<std::size_t>(config.position_offset)) * hidden;
    const std::size_t type = input.token_types.empty() ? 0 : static_cast<std::size_t>(input.token_types[t]);
    const float* type_row = weights.type_embeddings.empty() ? nullptr : weights.type_embeddings.data() + type * hidden;
    kernels::add_rows(word, position, type_row, out + t * hidden, hidden);
  }
}

std::vector<MicroBatch> make_micro_batches(std::span<const TransformerInput> inputs, std::size_t most_tokens) {
  std::vector<MicroBatch> batches;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t length = inputs[i].ids.size();
    if (batches.empty() || batches.back().tokens + length > most_tokens) batches.push_back({i, i, 0});
    batches.back().end = i + 1;
    batches.back().tokens += length;
  }
  return batches;
}

Status for_each_batch(std::span<const MicroBatch> batches, const ThreadPool& pool,
                      const std::function<Status(const MicroBatch&, std::size_t)>& run) {
  std::mutex mutex;
  std::optional<Error> failure;
  pool.parallel_for(batches.size(), [&](std::size_t index, int worker) {
    const OneThread one_thread;
    const Status ran = run(batches[index], static_cast<std::size_t>(worker));
    if (ran) return;
    const std::lock_guard lock(mutex);
    if (!failure) failure = ran.error();
  });
  if (failure) return *failure;
  return {};
}

}  // namespace casemate
