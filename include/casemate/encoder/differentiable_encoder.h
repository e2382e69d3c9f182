// casemate/encoder/differentiable_encoder.h
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/encoder/encoder.h"

namespace casemate {

/// Gradients of one scalar for each sequence, packed: the tokens of all sequences one after another.
struct GradientResult {
  Embeddings embeddings;             ///< [n, d]; those of `encode_tokens`, bit for bit
  std::size_t hidden = 0;            ///< width of a word embedding
  std::vector<std::size_t> offsets;  ///< n + 1 entries: sequence i has the tokens [offsets[i], offsets[i + 1])
  std::vector<float> gradients;      ///< [tokens, hidden]: with respect to the word embedding at each position
  /// [tokens]: derivative with respect to the token's weight in attention and pooling, at its value 1. Its negative is
  /// the first-order effect of leaving the token out, apart from the move of later positions.
  std::vector<float> presence;
  std::size_t forward_tokens = 0;   ///< tokens that went through a forward pass
  std::size_t backward_tokens = 0;  ///< and through a backward pass

  /// [length, hidden] of sequence i.
  [[nodiscard]] std::span<const float> gradient(std::size_t i) const {
    return std::span(gradients).subspan(offsets[i] * hidden, (offsets[i + 1] - offsets[i]) * hidden);
  }
  /// [length] of sequence i.
  [[nodiscard]] std::span<const float> presence_of(std::size_t i) const {
    return std::span(presence).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

/// An encoder that can also say how a scalar of the embedding changes with its inputs. Thread-safe, and like encoding,
/// results depend on a sequence alone: not on threads, nor on what else is in the batch.
class DifferentiableEncoder : public Encoder {
 public:
  /// Writes dL/d(embedding) of sequence `index` into `gradient` [d], given its final embedding [d] (normalised where
  /// info().normalized). Called once a sequence, from worker threads: it must touch only what belongs to `index`.
  using LossGradient =
      std::function<void(std::size_t index, std::span<const float> embedding, std::span<float> gradient)>;

  /// Forward and backward of token sequences as they are (as `encode_tokens`). Memory: 4 * hidden bytes a token for the
  /// result, and activations of one micro-batch a thread. The first call lays the weights out anew, a second copy.
  /// Error: as `encode_tokens`; InvalidArgument naming the sequence whose loss gradient is not finite; Model naming the
  /// sequence whose gradient is not finite.
  [[nodiscard]] virtual Result<GradientResult> gradient(std::span<const std::vector<TokenId>> sequences,
                                                        const LossGradient& loss_gradient) const = 0;

  /// The same for gradients [n, d] that do not depend on the embedding, such as a query to be near to.
  /// Error: also InvalidArgument where the sizes do not agree.
  [[nodiscard]] Result<GradientResult> gradient(std::span<const std::vector<TokenId>> sequences,
                                                std::span<const float> loss_gradients) const;

  /// [vocabulary, hidden], row-major, as long as the encoder lives. To first order, replacing token a at a position by
  /// b changes the scalar by gradient . (row b - row a).
  [[nodiscard]] virtual std::span<const float> word_embeddings() const noexcept = 0;
  [[nodiscard]] virtual std::size_t hidden() const noexcept = 0;  ///< width of a word embedding
};

}  // namespace casemate
