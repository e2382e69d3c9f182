// src/encoder/transformer_gradient.h
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "encoder/activation_layer.h"
#include "encoder/transformer.h"
#include "encoder/weights.h"

namespace casemate {

/// The backward pass of a transformer: from the final states to the word embeddings at each position.
///
/// Nothing flows to the weights, so each linear layer costs one matrix product. Activations live for one micro-batch of
/// sequences (about 9 * hidden * layers floats a token); attention weights are computed anew, not kept.
class TransformerGradient {
 public:
  /// `config` and `weights` must outlive it. Error: Model.
  [[nodiscard]] static Result<std::unique_ptr<TransformerGradient>> create(const ModelConfig& config,
                                                                           const TransformerWeights& weights);

  /// See Transformer::run_gradient; inputs are checked.
  [[nodiscard]] Status run(std::span<const TransformerInput> inputs, const ThreadPool& pool,
                           const Transformer::StatesGradient& states_gradient,
                           const Transformer::GradientSink& sink) const;

 private:
  /// What a layer needs besides its own weights.
  struct Layer {
    Linear feed_forward;  ///< without the activation, whose input the backward pass needs
    Linear qkv_back, attention_out_back, feed_forward_back, feed_forward_out_back;
  };
  struct Workspace;

  TransformerGradient(const ModelConfig& config, const TransformerWeights& weights, ActivationLayer activation)
      : config_(config), weights_(weights), activation_(std::move(activation)) {}

  [[nodiscard]] Status forward(std::span<const TransformerInput> inputs, std::size_t tokens, Workspace& work) const;
  [[nodiscard]] Status forward_layer(std::size_t index, std::span<const TransformerInput> inputs, std::size_t tokens,
                                     Workspace& work) const;
  [[nodiscard]] Status backward_layer(std::size_t index, std::span<const TransformerInput> inputs, std::size_t tokens,
                                      Workspace& work) const;
  [[nodiscard]] Status run_batch(std::span<const TransformerInput> inputs, std::size_t first, std::size_t tokens,
                                 Workspace& work, const Transformer::StatesGradient& states_gradient,
                                 const Transformer::GradientSink& sink) const;

  const ModelConfig& config_;
  const TransformerWeights& weights_;
  ActivationLayer activation_;
  std::vector<Layer> layers_;
};

}  // namespace casemate
