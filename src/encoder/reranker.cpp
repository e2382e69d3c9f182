#include <algorithm>
#include <cmath>
#include <optional>

#include "casemate/encoder/heads.h"
#include "encoder/head_options.h"
#include "encoder/model_folder.h"
#include "encoder/pair_input.h"

namespace casemate {
namespace {

/// The small layers on the first token's state: a hidden layer with tanh or ReLU, then one logit a label.
struct ClassificationWeights {
  std::vector<float> hidden, hidden_bias;  ///< [h, h], [h]
  std::vector<float> labels, labels_bias;  ///< [labels, h], [labels]
  bool relu = false;
};

Result<ClassificationWeights> load_classification(const ModelConfig& config, const SafetensorsFile& file) {
  std::string hidden = "pooler.dense";
  std::string labels = "classifier";
  ClassificationWeights weights;
  if (config.architecture == Architecture::kBert && file.contains("bert.pooler.dense.weight"))
    hidden = "bert.pooler.dense";
  if (config.architecture == Architecture::kRoberta || config.architecture == Architecture::kXlmRoberta) {
    hidden = "classifier.dense";
    labels = "classifier.out_proj";
  }
  if (config.architecture == Architecture::kDistilBert) {
    hidden = "pre_classifier";
    weights.relu = true;
  }
  const auto h = static_cast<std::uint64_t>(config.hidden);
  const auto n = static_cast<std::uint64_t>(config.labels);
  const std::uint64_t square[] = {h, h};
  const std::uint64_t row[] = {h};
  const std::uint64_t out[] = {n, h};
  const std::uint64_t out_bias[] = {n};
  const auto take = [&](std::vector<float>& into, const std::string& name,
                        std::span<const std::uint64_t> shape) -> std::optional<Error> {
    auto read = file.read(name, shape);
    if (!read) return read.error();
    into = *std::move(read);
    return std::nullopt;
  };
  if (auto error = take(weights.hidden, hidden + ".weight", square)) return *error;
  if (auto error = take(weights.hidden_bias, hidden + ".bias", row)) return *error;
  if (auto error = take(weights.labels, labels + ".weight", out)) return *error;
  if (auto error = take(weights.labels_bias, labels + ".bias", out_bias)) return *error;
  return weights;
}

/// y = W x + b in double precision: one row an input is not worth a matmul library.
std::vector<double> apply(const std::vector<float>& weights, const std::vector<float>& bias,
                          std::span<const double> x) {
  std::vector<double> y(bias.size());
  for (std::size_t o = 0; o < y.size(); ++o) {
    double sum = static_cast<double>(bias[o]);
    for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(weights[o * x.size() + i]) * x[i];
    y[o] = sum;
  }
  return y;
}

class CrossEncoder final : public Reranker {
 public:
  CrossEncoder(ModelFolder model, ClassificationWeights weights, std::size_t max_tokens, const ThreadPool& pool)
      : model_(std::move(model)), weights_(std::move(weights)), max_tokens_(max_tokens), pool_(pool) {}

  Result<std::vector<float>> score(std::string_view query, std::span<const std::string_view> passages) const override {
    Tokens first = model_.tokenizer->tokenize(query, SpecialTokens::kAsText);
    // A query that alone fills the input leaves half of it to the passage.
    const std::size_t room = max_tokens_ - pair_framing(*model_.tokenizer);
    if (first.ids.size() > room / 2) first.ids.resize(room / 2);
    std::vector<PairInput> pairs(passages.size());
    pool_.parallel_for(passages.size(), [&](std::size_t i, int) {
      const Tokens second = model_.tokenizer->tokenize(passages[i], SpecialTokens::kAsText);
      const std::size_t count = std::min(second.ids.size(), room - first.ids.size());
      pairs[i] = make_pair_input(*model_.tokenizer, first, second, 0, count, model_.config.token_types);
    });
    std::vector<TransformerInput> inputs;
    for (const PairInput& pair : pairs) inputs.push_back({pair.ids, pair.types});
    std::vector<float> scores(passages.size());
    const Status ran = model_.transformer->run(
        inputs, pool_, [&](std::size_t i, std::span<const float> states) { scores[i] = head(states); });
    if (!ran) return ran.error();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!std::isfinite(scores[i]))
        return Error{ErrorCode::kModel, "passage " + std::to_string(i) + ": its score is not finite"};
    }
    return scores;
  }

 private:
  [[nodiscard]] float head(std::span<const float> states) const {
    const std::span<const float> first = states.first(weights_.hidden_bias.size());
    std::vector<double> hidden =
        apply(weights_.hidden, weights_.hidden_bias, std::vector<double>(first.begin(), first.end()));
    for (double& x : hidden) x = weights_.relu ? std::max(x, 0.0) : std::tanh(x);
    const std::vector<double> logits = apply(weights_.labels, weights_.labels_bias, hidden);
    return static_cast<float>(logits.size() == 1 ? logits[0] : logits[1] - logits[0]);
  }

  ModelFolder model_;
  ClassificationWeights weights_;
  std::size_t max_tokens_;
  const ThreadPool& pool_;
};

}  // namespace

Result<std::unique_ptr<Reranker>> load_reranker(const std::string& folder, const HeadOptions& options,
                                                const ThreadPool& pool) {
  auto model = load_model_folder(folder);
  if (!model) return model.error();
  if (model->config.head != Head::kSequenceClassification || model->config.labels > 2) {
    return Error{ErrorCode::kUnsupported,
                 folder + ": a reranker is a ...ForSequenceClassification checkpoint with one or two labels"};
  }
  const auto limit = head_token_limit(options, model->config);
  if (!limit) return limit.error();
  auto weights = load_classification(model->config, *model->tensors);
  if (!weights) return weights.error();
  return std::unique_ptr<Reranker>(
      std::make_unique<CrossEncoder>(*std::move(model), *std::move(weights), *limit, pool));
}

}  // namespace casemate
