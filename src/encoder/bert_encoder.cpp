#include "casemate/encoder/bert_encoder.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "encoder/kernels.h"
#include "encoder/model_folder.h"

namespace casemate {
namespace {

class BertEncoder final : public Encoder {
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

 private:
  [[nodiscard]] const std::string& prefix_for(TextRole role) const {
    static const std::string none;
    if (role == TextRole::kQuery) return info_.query_prefix;
    if (role == TextRole::kPassage) return info_.passage_prefix;
    return none;
  }

  Result<Embeddings> embed(std::span<const TransformerInput> inputs) const {
    Embeddings out;
    out.rows = inputs.size();
    out.dimension = info_.dimension;
    out.values.resize(out.rows * out.dimension);
    std::vector<char> good(inputs.size(), 0);
    const Status ran = model_.transformer->run(inputs, pool_, [&](std::size_t i, std::span<const float> states) {
      float* row = out.values.data() + i * out.dimension;
      if (info_.pooling == Pooling::kCls) {
        std::memcpy(row, states.data(), out.dimension * sizeof(float));
      } else {
        kernels::mean_rows(states.data(), states.size() / out.dimension, out.dimension, row);
      }
      good[i] = finish(std::span<float>(row, out.dimension)) ? 1 : 0;
    });
    if (!ran) return ran.error();
    for (std::size_t i = 0; i < good.size(); ++i) {
      if (good[i] == 0) {
        return Error{ErrorCode::kModel,
                     "text " + std::to_string(i) +
                         ": its embedding is not finite or has norm zero (is the model file damaged?)"};
      }
    }
    return out;
  }

  /// Checks the row and scales it to norm 1 where the model asks for that.
  [[nodiscard]] bool finish(std::span<float> row) const {
    double squares = 0;
    for (const float value : row) squares += static_cast<double>(value) * static_cast<double>(value);
    if (!std::isfinite(squares) || squares <= 0) return false;
    if (info_.normalized) {
      const double scale = 1.0 / std::sqrt(squares);
      for (float& value : row) value = static_cast<float>(static_cast<double>(value) * scale);
    }
    return true;
  }

  ModelFolder model_;
  EncoderInfo info_;
  const ThreadPool& pool_;
};

}  // namespace

Result<std::unique_ptr<Encoder>> load_bert_encoder(const std::string& folder, const BertEncoderOptions& options,
                                                   const ThreadPool& pool) {
  auto settings = read_sentence_settings(folder);
  if (!settings) return settings.error();
  auto model = load_model_folder(folder);
  if (!model) return model.error();
  const int limit = model->config.max_positions;
  if (options.max_tokens != 0 && (options.max_tokens < 3 || options.max_tokens > limit)) {
    return Error{ErrorCode::kInvalidOption, "max_tokens = " + std::to_string(options.max_tokens) + " is outside 3 to " +
                                                std::to_string(limit) + ", the model's limit"};
  }
  EncoderInfo info;
  info.model = options.name.empty() ? model->name : options.name;
  info.model_hash = model->hash;
  info.dimension = static_cast<std::size_t>(model->config.hidden);
  info.pooling = options.pooling.value_or(settings->pooling.value_or(Pooling::kMean));
  info.normalized = options.normalize.value_or(settings->normalize.value_or(true));
  info.query_prefix = options.query_prefix;
  info.passage_prefix = options.passage_prefix;
  const int said = settings->max_tokens.value_or(limit);
  info.max_tokens = options.max_tokens != 0 ? options.max_tokens : (said >= 3 && said <= limit ? said : limit);
  return std::unique_ptr<Encoder>(std::make_unique<BertEncoder>(*std::move(model), std::move(info), pool));
}

}  // namespace casemate
