#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "text/maxout_kernel.h"
#include "text/tagger_file.h"

namespace casemate {

/// What the network reads of a token, as spaCy's 64-bit ids.
inline constexpr std::size_t kTokenFeatures = 6;
using TokenFeatures = std::array<std::uint64_t, kTokenFeatures>;  ///< norm, prefix, suffix, shape, blank, is space

/// spaCy's tok2vec and tagger: hash embeddings, a mixing layer, four residual layers over a window of three tokens, a
/// linear layer. Immutable, thread-safe.
class TaggerNetwork {
 public:
  /// `file`'s bytes must outlive the network, which reads the embeddings there.
  [[nodiscard]] static Result<TaggerNetwork> create(const TaggerFile& file);

  /// The index of each token's tag. Works block by block, so that memory does not grow with the text.
  [[nodiscard]] std::vector<std::uint8_t> tag(std::span<const TokenFeatures> tokens) const;
  [[nodiscard]] std::size_t tags() const noexcept { return output_bias_.size(); }

 private:
  struct Layer {
    std::vector<float> weights;  // [inputs, 3, 96]
    std::vector<float> bias;     // [3, 96]
    std::vector<float> gain;     // [96]
    std::vector<float> shift;    // [96]
    std::size_t inputs = 0;
  };

  [[nodiscard]] static Result<Layer> read_layer(const TaggerFile& file, std::size_t number, std::size_t inputs);
  void embed(const TokenFeatures& token, float* out) const;
  static void apply(const Layer& layer, const float* in, std::size_t stride, std::size_t rows, float* out);
  [[nodiscard]] std::uint8_t best_tag(const float* row) const;

  std::string_view embedding_;          // int8 [11100, 96]
  std::vector<float> embedding_scale_;  // [11100]
  std::vector<Layer> layers_;           // the mixing layer, then the window layers
  std::vector<float> output_;           // [96, tags]
  std::vector<float> output_bias_;      // [tags]
};

}  // namespace casemate
