// src/encoder/weights.h
#pragma once

#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/encoder/checkpoint.h"
#include "encoder/linear.h"

namespace casemate {

struct LayerNormWeights {
  std::vector<float> gamma;
  std::vector<float> beta;
};

/// One transformer layer, ready to run.
struct LayerWeights {
  Linear qkv;            ///< hidden -> 3 * hidden: queries, keys, values side by side
  Linear attention_out;  ///< hidden -> hidden, added to the residual
  LayerNormWeights attention_norm;
  Linear feed_forward;      ///< hidden -> intermediate with the activation
  Linear feed_forward_out;  ///< intermediate -> hidden, added to the residual
  LayerNormWeights output_norm;
};

struct TransformerWeights {
  std::vector<float> word_embeddings;      ///< [vocabulary, hidden]
  std::vector<float> position_embeddings;  ///< [max positions + offset, hidden]
  std::vector<float> type_embeddings;      ///< [token types, hidden], empty where there are none
  LayerNormWeights embedding_norm;
  std::vector<LayerWeights> layers;
};

/// What feed_forward's layer does to its output.
[[nodiscard]] Epilogue epilogue_of(Activation activation) noexcept;

/// Finds the tensors by the architecture's names, with or without the "bert." style prefix that heads put before them.
/// Error: NotFound, Mismatch, Unsupported naming the tensor.
[[nodiscard]] Result<TransformerWeights> load_transformer_weights(const ModelConfig& config,
                                                                  const SafetensorsFile& file, Precision precision);

}  // namespace casemate
