#include "casemate/sanitize/attention_rollout.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace casemate {
namespace {

// Weights are kept as the upper bits of their float32 form, counted from 2^-40: six bits of exponent, ten of fraction.
// IEEE half precision has no exponents below 2^-14 without losing fraction, and long contexts need them.
constexpr std::uint32_t kLowest = (127U - 40U) << 23U;
constexpr std::uint32_t kHalfUnit = 1U << 12U;

std::uint16_t pack(float weight) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(weight) + kHalfUnit;
  return bits <= kLowest ? std::uint16_t{0} : static_cast<std::uint16_t>((bits - kLowest) >> 13U);
}

float unpack(std::uint16_t packed) noexcept {
  const std::uint32_t bits = packed == 0 ? 0U : (static_cast<std::uint32_t>(packed) << 13U) + kLowest;
  return std::bit_cast<float>(bits);
}

std::size_t row_start(std::size_t row) noexcept { return row * (row + 1) / 2; }

constexpr double kRowTolerance = 1e-2;

}  // namespace

Status AttentionTriangles::add(const AttentionBlock& block) {
  if (block.first_row + block.rows > tokens_ || block.columns != block.first_row + block.rows ||
      block.weights.size() != block.rows * block.columns || block.layer > 4096) {
    return Error{ErrorCode::kInvalidArgument,
                 "an attention block is outside the sequence of " + std::to_string(tokens_) + " tokens"};
  }
  if (block.layer >= layers_.size()) {
    layers_.resize(block.layer + 1);
    sums_.resize(block.layer + 1);
  }
  std::vector<std::uint16_t>& layer = layers_[block.layer];
  // Room for all at once, so that growing copies nothing; memory that no row has reached is not touched.
  layer.reserve(row_start(tokens_));
  sums_[block.layer].reserve(tokens_);
  layer.resize(std::max(layer.size(), row_start(block.columns)), 0);
  sums_[block.layer].resize(std::max(sums_[block.layer].size(), block.columns), 0.0F);
  for (std::size_t r = 0; r < block.rows; ++r) {
    const std::size_t row = block.first_row + r;
    const float* from = block.weights.data() + r * block.columns;
    std::uint16_t* to = layer.data() + row_start(row);
    double sum = 0;
    for (std::size_t i = 0; i <= row; ++i) sum += static_cast<double>(from[i]);
    if (!(std::abs(sum - 1) <= kRowTolerance)) {
      return Error{ErrorCode::kModel, "attention row " + std::to_string(row) + " of layer " +
                                          std::to_string(block.layer) + " sums to " + std::to_string(sum) +
                                          ", not to 1"};
    }
    // The sum of the row as it is kept, so that rounding neither adds nor loses mass in the product.
    float kept = 0;
    for (std::size_t i = 0; i <= row; ++i) {
      to[i] = pack(from[i]);
      kept += unpack(to[i]);
    }
    sums_[block.layer][row] = kept;
  }
  return {};
}

std::size_t AttentionTriangles::bytes() const noexcept {
  std::size_t total = 0;
  for (const auto& layer : layers_) total += layer.size() * sizeof(std::uint16_t);
  for (const auto& sums : sums_) total += sums.size() * sizeof(float);
  return total;
}

Status AttentionTriangles::end_at(std::size_t tokens) {
  const auto short_of = [&](const std::vector<std::uint16_t>& layer) { return layer.size() < row_start(tokens); };
  if (tokens > tokens_ || std::any_of(layers_.begin(), layers_.end(), short_of)) {
    return Error{ErrorCode::kInvalidArgument, "there is no attention of " + std::to_string(tokens) + " tokens"};
  }
  tokens_ = tokens;
  return {};
}

float AttentionTriangles::weight(std::size_t layer, std::size_t row, std::size_t column) const {
  return unpack(layers_.at(layer).at(row_start(row) + column));
}

Result<std::vector<double>> AttentionTriangles::rollout(std::span<const double> weights, std::stop_token stop) const {
  if (weights.size() != tokens_) {
    return Error{ErrorCode::kInvalidArgument, "rollout of " + std::to_string(weights.size()) + " weights over " +
                                                  std::to_string(tokens_) + " tokens"};
  }
  std::vector<float> row(weights.begin(), weights.end());
  std::vector<float> next(tokens_);
  for (std::size_t layer = layers_.size(); layer-- > 0;) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller asked to stop"};
    if (layers_[layer].size() < row_start(tokens_))
      return Error{ErrorCode::kModel, "layer " + std::to_string(layer) + " has no attention"};
    next.assign(tokens_, 0.0F);
    for (std::size_t j = 0; j < tokens_; ++j) {
      if (row[j] == 0.0F) continue;
      // (A + I) / 2 divided by its row sum is (A + I) / (sum + 1): the halves cancel.
      const std::uint16_t* attention = layers_[layer].data() + row_start(j);
      const float scale = row[j] / (1.0F + sums_[layer][j]);
      float* to = next.data();
      for (std::size_t i = 0; i <= j; ++i) to[i] += scale * unpack(attention[i]);
      next[j] += scale;
    }
    row.swap(next);
  }
  return std::vector<double>(row.begin(), row.end());
}

Result<std::vector<double>> AttentionTriangles::mean_attention(std::span<const double> weights) const {
  if (weights.size() != tokens_ || layers_.empty())
    return Error{ErrorCode::kInvalidArgument, "weights and attention are of different lengths"};
  std::vector<double> out(tokens_, 0.0);
  for (const auto& layer : layers_) {
    if (layer.size() < row_start(tokens_)) return Error{ErrorCode::kModel, "a layer has no attention"};
    for (std::size_t j = 0; j < tokens_; ++j) {
      if (weights[j] == 0) continue;
      const double scale = weights[j] / static_cast<double>(layers_.size());
      for (std::size_t i = 0; i <= j; ++i) out[i] += scale * static_cast<double>(unpack(layer[row_start(j) + i]));
    }
  }
  return out;
}

Result<AttentionTriangles> capture_attention(LanguageModel& model, std::span<const TokenId> tokens,
                                             std::stop_token stop) {
  if (Status able = require(model, {Feature::kAttention}, "attention rollout"); !able) return able.error();
  AttentionTriangles out(tokens.size());
  const Status seen = model.attention(
      tokens, [&out](const AttentionBlock& block) { return out.add(block); }, std::move(stop));
  if (!seen) return seen.error();
  return out;
}

Result<AttentiveGeneration> generate_and_capture(LanguageModel& model, std::span<const TokenId> prompt,
                                                 const GenerateOptions& options, std::stop_token stop) {
  if (Status able = require(model, {Feature::kAttention}, "attention rollout"); !able) return able.error();
  const auto longest = prompt.size() + static_cast<std::size_t>(std::max(options.max_new_tokens, 0));
  AttentionTriangles attention(longest);
  auto generation = model.generate_with_attention(
      prompt, options, [&attention](const AttentionBlock& block) { return attention.add(block); }, std::move(stop));
  if (!generation) return generation.error();
  if (Status whole = attention.end_at(prompt.size() + generation->ids.size()); !whole) return whole.error();
  return AttentiveGeneration{*std::move(generation), std::move(attention)};
}

}  // namespace casemate
