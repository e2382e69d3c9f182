// src/encoder/transformer.h
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/encoder/checkpoint.h"
#include "casemate/text/tokenizer.h"
#include "encoder/linear.h"

namespace casemate {

/// One input of the transformer. `token_types` is empty (all 0) or as long as `ids`.
struct TransformerInput {
  std::span<const TokenId> ids;
  std::span<const TokenId> token_types;
};

/// A BERT-family encoder stack. Immutable, thread-safe.
///
/// Sequences are packed: their tokens lie one after another without padding, linear layers run over all tokens of a
/// micro-batch at once, attention by sequence. A sequence's result depends on that sequence alone, bit for bit.
class Transformer {
 public:
  /// Error: InvalidInput, Mismatch or NotFound naming the tensor.
  [[nodiscard]] static Result<std::unique_ptr<Transformer>> create(const ModelConfig& config,
                                                                   const SafetensorsFile& file, Precision precision);
  ~Transformer();
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  [[nodiscard]] const ModelConfig& config() const noexcept;

  /// Called with the final states [length, hidden] of input `index`; runs on a worker thread, so it must touch only
  /// what belongs to `index`.
  using StatesSink = std::function<void(std::size_t index, std::span<const float> states)>;
  /// Error: InvalidArgument naming the input (empty, too long, id outside the vocabulary); Model.
  [[nodiscard]] Status run(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                           const StatesSink& sink) const;

  /// [vocabulary, hidden], as long as the transformer lives.
  [[nodiscard]] std::span<const float> word_embeddings() const noexcept;

  /// Given the final states [length, hidden] of input `index`, adds the gradient of the scalar with respect to them to
  /// `gradient` [length, hidden], which is zero, and with respect to each token's weight in pooling to `presence`
  /// [length]. Runs on a worker thread, so it must touch only what belongs to `index`.
  using StatesGradient = std::function<Status(std::size_t index, std::span<const float> states,
                                              std::span<float> gradient, std::span<float> presence)>;
  /// Called with the gradient [length, hidden] with respect to the word embeddings of input `index`, and the derivative
  /// [length] with respect to each token's weight in attention and pooling. Runs on a worker thread.
  using GradientSink =
      std::function<void(std::size_t index, std::span<const float> gradient, std::span<const float> presence)>;
  /// Forward and backward. The states are those of `run`, bit for bit. The first call lays the weights out anew for the
  /// backward pass, a second copy in memory. Error: as `run`, and what `states_gradient` returns.
  [[nodiscard]] Status run_gradient(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                                    const StatesGradient& states_gradient, const GradientSink& sink) const;

 private:
  struct State;
  explicit Transformer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
