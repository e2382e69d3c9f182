// casemate/sanitize/attention_rollout.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/llm/language_model.h"

namespace casemate {

/// The attention of a forward pass, averaged over heads: for each layer the lower triangle of [tokens, tokens] in 16
/// bits a weight (10 bits of fraction, exponents down to 2^-40, which weights in [0, 1] need more than a sign and
/// exponents above 1). 2 * layers * tokens * (tokens + 1) / 2 bytes: 480 MB for 30 layers and 4,000 tokens.
///
/// Not thread-safe while it is filled; afterwards any number of readers.
class AttentionTriangles {
 public:
  /// Room for `tokens` >= 1 at most; layers are added as blocks name them.
  explicit AttentionTriangles(std::size_t tokens) : tokens_(tokens) {}

  /// Takes a block of rows in. Error: Model where a row does not sum to 1 within 1e-2 or holds no numbers;
  /// InvalidArgument for rows that are not there.
  [[nodiscard]] Status add(const AttentionBlock& block);

  /// There are no more tokens than these. Error: InvalidArgument where rows of them are missing.
  [[nodiscard]] Status end_at(std::size_t tokens);

  [[nodiscard]] std::size_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] std::size_t layers() const noexcept { return layers_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// The weight of `row` on `column` <= `row`.
  [[nodiscard]] float weight(std::size_t layer, std::size_t row, std::size_t column) const;

  /// `weights` [tokens] times the product of all layers' maps, last layer first: w A^_L ... A^_1 with A^ = the row-wise
  /// normalised (A + I) / 2 (Abnar and Zuidema 2020). The mean of some rows of the rollout matrix is what this gives
  /// for the mean of their unit vectors, so it costs one vector by matrix a layer: O(layers * tokens^2), where the
  /// matrix itself would cost O(layers * tokens^3). Error: InvalidArgument for another size; Cancelled.
  [[nodiscard]] Result<std::vector<double>> rollout(std::span<const double> weights, std::stop_token stop = {}) const;
  /// `weights` [tokens] times the mean over layers of the maps themselves, without the identity: what the rows look at,
  /// not what reaches them through other tokens. Error: as above.
  [[nodiscard]] Result<std::vector<double>> mean_attention(std::span<const double> weights) const;

 private:
  std::size_t tokens_;
  std::vector<std::vector<std::uint16_t>> layers_;
  std::vector<std::vector<float>> sums_;  ///< of the rows as they are kept
};

/// Runs `tokens` through the model and keeps its attention. Error: Unsupported without attention; what the model says.
[[nodiscard]] Result<AttentionTriangles> capture_attention(LanguageModel& model, std::span<const TokenId> tokens,
                                                           std::stop_token stop = {});

/// An answer and the attention of prompt and answer together.
struct AttentiveGeneration {
  Generation generation;
  AttentionTriangles attention;
};
/// Answers the prompt and keeps the attention on the way. Error: as above.
[[nodiscard]] Result<AttentiveGeneration> generate_and_capture(LanguageModel& model, std::span<const TokenId> prompt,
                                                               const GenerateOptions& options,
                                                               std::stop_token stop = {});

}  // namespace casemate
