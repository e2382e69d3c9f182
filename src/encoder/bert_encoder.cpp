#include "casemate/encoder/bert_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "casemate/core/hash.h"
#include "encoder/kernels.h"
#include "encoder/model_folder.h"

namespace casemate {
namespace {

class BertEncoder final : public DifferentiableEncoder {
 public:
  BertEncoder(ModelFolder model, EncoderInfo info, const ThreadPool& pool)
      : model_(std::move(model)), info_(std::move(info)), pool_(pool) {}

  const EncoderInfo& info() const noexcept override { return info_; }
  const Tokenizer& tokenizer() const noexcept override { return *model_.tokenizer; }

  Result<EncodeResult> encode(std::span<const std::string_view> texts, const EncodeSettings& settings) const override {
    EncodeResult result;
    result.inputs.resize(texts.size());
    const std::string& prefix = prefix_for(settings.role);
    pool_.parallel_for(texts.size(), [&](std::size_t i, int) {
      const Tokens tokens = prefix.empty()
                                ? model_.tokenizer->tokenize(texts[i], settings.special_tokens)
                                : model_.tokenizer->tokenize(prefix + std::string(texts[i]), settings.special_tokens);
      result.inputs[i] = frame(*model_.tokenizer, tokens, info_.max_tokens);
    });
    std::vector<TransformerInput> inputs;
    inputs.reserve(texts.size());
    for (const EncodedInput& input : result.inputs) inputs.push_back({input.input_ids, {}});
    auto embeddings = embed(inputs);
    if (!embeddings) return embeddings.error();
    result.embeddings = *std::move(embeddings);
    return result;
  }

  Result<Embeddings> encode_tokens(std::span<const std::vector<TokenId>> sequences) const override {
    std::vector<TransformerInput> inputs;
    inputs.reserve(sequences.size());
    for (const std::vector<TokenId>& sequence : sequences) inputs.push_back({sequence, {}});
    return embed(inputs);
  }

  std::span<const float> word_embeddings() const noexcept override { return model_.transformer->word_embeddings(); }
  std::size_t hidden() const noexcept override { return static_cast<std::size_t>(model_.config.hidden); }

  using DifferentiableEncoder::gradient;
  Result<GradientResult> gradient(std::span<const std::vector<TokenId>> sequences,
                                  const LossGradient& loss_gradient) const override {
    const std::size_t width = hidden();
    GradientResult out;
    out.embeddings = {sequences.size(), info_.dimension, std::vector<float>(sequences.size() * info_.dimension)};
    out.hidden = width;
    out.offsets.push_back(0);
    std::vector<TransformerInput> inputs;
    inputs.reserve(sequences.size());
    for (const std::vector<TokenId>& sequence : sequences) {
      inputs.push_back({sequence, {}});
      out.offsets.push_back(out.offsets.back() + sequence.size());
    }
    out.gradients.resize(out.offsets.back() * width);
    out.presence.resize(out.offsets.back());
    std::vector<char> good(sequences.size(), 0);
    const auto from_loss = [&](std::size_t i, std::span<const float> states, std::span<float> gradient,
                               std::span<float> presence) -> Status {
      const std::span<float> row = row_of(out.embeddings, i);
      const double norm = pool(states, row);
      if (!(norm > 0)) return not_finite(i);
      std::vector<float> loss(row.size());
      loss_gradient(i, row, loss);
      if (!all_finite(loss)) {
        return Error{ErrorCode::kInvalidArgument,
                     "sequence " + std::to_string(i) + ": its loss gradient is not finite"};
      }
      pool_backward(states, row, norm, loss, gradient, presence);
      return {};
    };
    const auto keep = [&](std::size_t i, std::span<const float> gradient, std::span<const float> presence) {
      std::copy(gradient.begin(), gradient.end(), out.gradients.data() + out.offsets[i] * width);
      std::copy(presence.begin(), presence.end(), out.presence.data() + out.offsets[i]);
      good[i] = all_finite(gradient) && all_finite(presence) ? 1 : 0;
    };
    const Status ran = model_.transformer->run_gradient(inputs, pool_, from_loss, keep);
    if (!ran) return ran.error();
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i] == 0)
        return Error{ErrorCode::kModel, "sequence " + std::to_string(i) + ": its gradient is not finite"};
    }
    out.forward_tokens = out.backward_tokens = out.offsets.back();
    return out;
  }

 private:
  [[nodiscard]] static bool all_finite(std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  }
  [[nodiscard]] const std::string& prefix_for(TextRole role) const {
    static const std::string none;
    if (role == TextRole::kQuery) return info_.query_prefix;
    if (role == TextRole::kPassage) return info_.passage_prefix;
    return none;
  }

  Result<Embeddings> embed(std::span<const TransformerInput> inputs) const {
    Embeddings out{inputs.size(), info_.dimension, std::vector<float>(inputs.size() * info_.dimension)};
    std::vector<char> good(inputs.size(), 0);
    const Status ran = model_.transformer->run(inputs, pool_, [&](std::size_t i, std::span<const float> states) {
      good[i] = pool(states, row_of(out, i)) > 0 ? 1 : 0;
    });
    if (!ran) return ran.error();
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i] == 0) return not_finite(i);
    }
    return out;
  }

  [[nodiscard]] static std::span<float> row_of(Embeddings& embeddings, std::size_t i) {
    return std::span(embeddings.values).subspan(i * embeddings.dimension, embeddings.dimension);
  }
  [[nodiscard]] static Error not_finite(std::size_t i) {
    return {ErrorCode::kModel, "text " + std::to_string(i) +
                                   ": its embedding is not finite or has norm zero (is the model file damaged?)"};
  }

  /// From token states to the embedding, scaled to norm 1 where the model asks for that. Returns the norm before; not
  /// above 0 where it is zero or not finite.
  double pool(std::span<const float> states, std::span<float> row) const {
    if (info_.pooling == Pooling::kCls) {
      std::memcpy(row.data(), states.data(), row.size_bytes());
    } else {
      kernels::mean_rows(states.data(), states.size() / row.size(), row.size(), row.data());
    }
    double squares = 0;
    for (const float value : row) squares += static_cast<double>(value) * static_cast<double>(value);
    if (!std::isfinite(squares) || squares <= 0) return 0;
    const double norm = std::sqrt(squares);
    if (info_.normalized) {
      const double scale = 1.0 / norm;
      for (float& value : row) value = static_cast<float>(static_cast<double>(value) * scale);
    }
    return norm;
  }

  /// The way back: from `loss`, the gradient with respect to the embedding `row`, to that of the states.
  void pool_backward(std::span<const float> states, std::span<const float> row, double norm,
                     std::span<const float> loss, std::span<float> gradient, std::span<float> presence) const {
    const std::size_t width = row.size();
    std::vector<double> pooled(loss.begin(), loss.end());
    if (info_.normalized) {
      double along = 0;
      for (std::size_t d = 0; d < width; ++d) along += pooled[d] * static_cast<double>(row[d]);
      for (std::size_t d = 0; d < width; ++d) pooled[d] = (pooled[d] - along * static_cast<double>(row[d])) / norm;
    }
    if (info_.pooling == Pooling::kCls) {
      for (std::size_t d = 0; d < width; ++d) gradient[d] = static_cast<float>(pooled[d]);
      return;
    }
    const auto length = static_cast<double>(presence.size());
    const double scale = info_.normalized ? norm : 1.0;
    for (std::size_t t = 0; t < presence.size(); ++t) {
      double change = 0;  // of the mean's move towards this state as its weight grows
      for (std::size_t d = 0; d < width; ++d) {
        gradient[t * width + d] = static_cast<float>(pooled[d] / length);
        change += pooled[d] * (static_cast<double>(states[t * width + d]) - static_cast<double>(row[d]) * scale);
      }
      presence[t] = static_cast<float>(change / length);
    }
  }

  ModelFolder model_;
  EncoderInfo info_;
  const ThreadPool& pool_;
};

}  // namespace

Result<std::unique_ptr<DifferentiableEncoder>> load_bert_encoder(const std::string& folder,
                                                                 const BertEncoderOptions& options,
                                                                 const ThreadPool& pool) {
  auto settings = read_sentence_settings(folder);
  if (!settings) return settings.error();
  auto model = load_model_folder(folder, options.precision);
  if (!model) return model.error();
  const int limit = model->config.max_positions;
  if (options.max_tokens != 0 && (options.max_tokens < 3 || options.max_tokens > limit)) {
    return Error{ErrorCode::kInvalidOption, "max_tokens = " + std::to_string(options.max_tokens) + " is outside 3 to " +
                                                std::to_string(limit) + ", the model's limit"};
  }
  EncoderInfo info;
  info.model = options.name.empty() ? model->name : options.name;
  info.precision = options.precision;
  // Vectors of another precision are other vectors to every cache and store.
  info.model_hash = options.precision == Precision::kFloat32
                        ? model->hash
                        : to_hex(blake2b(model->hash + " " + std::string(precision_name(options.precision))));
  info.dimension = static_cast<std::size_t>(model->config.hidden);
  info.pooling = options.pooling.value_or(settings->pooling.value_or(Pooling::kMean));
  info.normalized = options.normalize.value_or(settings->normalize.value_or(true));
  info.query_prefix = options.query_prefix;
  info.passage_prefix = options.passage_prefix;
  const int said = settings->max_tokens.value_or(limit);
  info.max_tokens = options.max_tokens != 0 ? options.max_tokens : (said >= 3 && said <= limit ? said : limit);
  return std::unique_ptr<DifferentiableEncoder>(
      std::make_unique<BertEncoder>(*std::move(model), std::move(info), pool));
}

}  // namespace casemate
