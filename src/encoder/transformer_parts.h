// src/encoder/transformer_parts.h: what the forward and the backward pass of the transformer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "casemate/core/thread_pool.h"
#include "encoder/transformer.h"
#include "encoder/weights.h"

namespace casemate {

/// A 64-byte aligned float buffer that only grows; growing loses what it held.
class FloatBuffer {
 public:
  float* reserve(std::size_t floats) {
    if (floats + 16 > storage_.size()) storage_.assign(floats + 16, 0.0F);
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (64 - address % 64) % 64 / sizeof(float);
  }

 private:
  std::vector<float> storage_;
};

/// Rows that go through the feed-forward layers together; a multiple of Linear::kRowBlock.
constexpr std::size_t kBlockRows = 128;

/// What is wrong with input `index`, if anything: InvalidArgument naming it.
[[nodiscard]] std::optional<Error> check_input(const ModelConfig& config, std::size_t index,
                                               const TransformerInput& input);

/// Word, position and type embeddings added, before their layer norm: `out` is [length, hidden].
void sum_embeddings(const ModelConfig& config, const TransformerWeights& weights, const TransformerInput& input,
                    float* out);

/// Neighbouring inputs that are computed together.
struct MicroBatch {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t tokens = 0;
};

/// In order, each of at most `most_tokens` unless one input alone is longer.
[[nodiscard]] std::vector<MicroBatch> make_micro_batches(std::span<const TransformerInput> inputs,
                                                         std::size_t most_tokens);

/// Calls `run` once for each batch, from the pool's workers; the first failure is returned when all are done.
[[nodiscard]] Status for_each_batch(std::span<const MicroBatch> batches, const ThreadPool& pool,
                                    const std::function<Status(const MicroBatch& batch, std::size_t worker)>& run);

}  // namespace casemate
