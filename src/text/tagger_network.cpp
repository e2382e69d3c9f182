#include "text/tagger_network.h"

#include <algorithm>
#include <cmath>

#include "text/lexeme_hash.h"

namespace casemate {
namespace {

constexpr std::size_t kWidth = kernels::kMaxoutWidth;
constexpr std::size_t kOutputs = kernels::kMaxoutOutputs;
constexpr std::array<std::uint32_t, kTokenFeatures> kTableRows = {5000, 1000, 2500, 2500, 50, 50};
constexpr std::uint32_t kFirstSeed = 8;
constexpr std::size_t kAllRows = 11100;
constexpr std::size_t kWindowLayers = 4;
constexpr std::size_t kReach = kWindowLayers;  // tokens on each side that a tag depends on
constexpr std::size_t kBlockTokens = 128;

}  // namespace

Result<TaggerNetwork::Layer> TaggerNetwork::read_layer(const TaggerFile& file, std::size_t number, std::size_t inputs) {
  const std::string name = "layer" + std::to_string(number);
  const auto codes = file.section(name, inputs * kOutputs);
  if (!codes) return codes.error();
  const auto vectors = file.floats(name + "_vectors", 2 * kOutputs + 2 * kWidth);
  if (!vectors) return vectors.error();
  Layer layer;
  layer.inputs = inputs;
  const auto part = [&](std::size_t begin, std::size_t count) {
    const auto first = vectors->begin() + static_cast<std::ptrdiff_t>(begin);
    return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(count));
  };
  const std::vector<float> scale = part(0, kOutputs);
  layer.bias = part(kOutputs, kOutputs);
  layer.gain = part(2 * kOutputs, kWidth);
  layer.shift = part(2 * kOutputs + kWidth, kWidth);
  layer.weights.resize(codes->size());
  for (std::size_t i = 0; i < codes->size(); ++i)
    layer.weights[i] = static_cast<float>(static_cast<std::int8_t>((*codes)[i])) * scale[i % kOutputs];
  return layer;
}

Result<TaggerNetwork> TaggerNetwork::create(const TaggerFile& file) {
  TaggerNetwork network;
  const auto embedding = file.section("embed", kAllRows * kWidth);
  if (!embedding) return embedding.error();
  network.embedding_ = *embedding;
  auto scale = file.floats("embed_scale", kAllRows);
  if (!scale) return scale.error();
  network.embedding_scale_ = *std::move(scale);
  for (std::size_t i = 0; i <= kWindowLayers; ++i) {
    auto layer = read_layer(file, i, (i == 0 ? kTokenFeatures : 3) * kWidth);
    if (!layer) return layer.error();
    network.layers_.push_back(*std::move(layer));
  }
  const auto tags = file.table("tags", 1);
  if (!tags) return tags.error();
  auto output = file.floats("output", kWidth * tags->size());
  if (!output) return output.error();
  network.output_ = *std::move(output);
  auto bias = file.floats("output_bias", tags->size());
  if (!bias) return bias.error();
  network.output_bias_ = *std::move(bias);
  return network;
}

void TaggerNetwork::embed(const TokenFeatures& token, float* out) const {
  std::fill(out, out + kTokenFeatures * kWidth, 0.0F);
  std::size_t table = 0;
  for (std::size_t feature = 0; feature < kTokenFeatures; ++feature) {
    const auto hashes = murmur_hash_3(token[feature], kFirstSeed + static_cast<std::uint32_t>(feature));
    for (const std::uint32_t hash : hashes) {
      const std::size_t row = table + hash % kTableRows[feature];
      const char* codes = embedding_.data() + row * kWidth;
      const float scale = embedding_scale_[row];
      for (std::size_t i = 0; i < kWidth; ++i)
        out[feature * kWidth + i] += static_cast<float>(static_cast<std::int8_t>(codes[i])) * scale;
    }
    table += kTableRows[feature];
  }
}

void TaggerNetwork::apply(const Layer& layer, const float* in, std::size_t stride, std::size_t rows, float* out) {
  constexpr double kEpsilon = 1e-8;
  kernels::maxout(in, stride, layer.inputs, rows, layer.weights.data(), layer.bias.data(), out);
  for (std::size_t r = 0; r < rows; ++r, out += kWidth) {
    double sum = 0;
    for (std::size_t i = 0; i < kWidth; ++i) sum += static_cast<double>(out[i]);
    const double mean = sum / kWidth;
    double squares = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double distance = static_cast<double>(out[i]) - mean;
      squares += distance * distance;
    }
    const auto factor = static_cast<float>(1.0 / std::sqrt(squares / kWidth + kEpsilon));
    const auto centre = static_cast<float>(mean);
    for (std::size_t i = 0; i < kWidth; ++i) out[i] = (out[i] - centre) * factor * layer.gain[i] + layer.shift[i];
  }
}

std::uint8_t TaggerNetwork::best_tag(const float* row) const {
  std::vector<float> scores = output_bias_;
  const std::size_t count = scores.size();
  for (std::size_t i = 0; i < kWidth; ++i) {
    for (std::size_t t = 0; t < count; ++t) scores[t] += row[i] * output_[i * count + t];
  }
  return static_cast<std::uint8_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

std::vector<std::uint8_t> TaggerNetwork::tag(std::span<const TokenFeatures> tokens) const {
  // A block's rows with those on both sides that its tags depend on; before the first token and behind the last one
  // the rows are zero. A window layer needs one row more on each side than it makes.
  constexpr std::size_t kRows = kBlockTokens + 2 * kReach;
  std::vector<float> features(kRows * kTokenFeatures * kWidth);
  std::vector<float> rows(kRows * kWidth);
  std::vector<float> change(kRows * kWidth);
  std::vector<std::uint8_t> tags;
  tags.reserve(tokens.size());
  for (std::size_t begin = 0; begin < tokens.size(); begin += kBlockTokens) {
    const std::size_t block = std::min(kBlockTokens, tokens.size() - begin);
    const std::size_t used = block + 2 * kReach;
    const std::size_t first = begin < kReach ? kReach - begin : 0;            // first row that is a token
    const std::size_t last = std::min(used, tokens.size() - begin + kReach);  // behind the last one
    for (std::size_t r = first; r < last; ++r)
      embed(tokens[begin + r - kReach], features.data() + r * kTokenFeatures * kWidth);
    std::fill(rows.begin(), rows.end(), 0.0F);
    apply(layers_[0], features.data() + first * kTokenFeatures * kWidth, kTokenFeatures * kWidth, last - first,
          rows.data() + first * kWidth);
    for (std::size_t layer = 1; layer <= kWindowLayers; ++layer) {
      const std::size_t made = used - 2 * layer;
      apply(layers_[layer], rows.data() + (layer - 1) * kWidth, kWidth, made, change.data());
      float* target = rows.data() + layer * kWidth;
      for (std::size_t i = 0; i < made * kWidth; ++i) target[i] += change[i];
    }
    for (std::size_t t = 0; t < block; ++t) tags.push_back(best_tag(rows.data() + (t + kReach) * kWidth));
  }
  return tags;
}

}  // namespace casemate
