#include "encoder/weights.h"

#include <optional>
#include <utility>

namespace casemate {
namespace {

/// Names of one layer's parts under "<layers>.<i>."; what differs between BERT/RoBERTa and DistilBERT.
struct LayerNames {
  const char* layers;
  const char* query;
  const char* key;
  const char* value;
  const char* attention_out;
  const char* attention_norm;
  const char* feed_forward;
  const char* feed_forward_out;
  const char* output_norm;
};

constexpr LayerNames kBertNames = {"encoder.layer",        "attention.self.query",   "attention.self.key",
                                   "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
                                   "intermediate.dense",   "output.dense",           "output.LayerNorm"};
constexpr LayerNames kDistilNames = {"transformer.layer", "attention.q_lin",   "attention.k_lin",
                                     "attention.v_lin",   "attention.out_lin", "sa_layer_norm",
                                     "ffn.lin1",          "ffn.lin2",          "output_layer_norm"};

std::string find_prefix(const SafetensorsFile& file) {
  for (const char* prefix : {"", "bert.", "roberta.", "distilbert.", "model."}) {
    if (file.contains(std::string(prefix) + "embeddings.word_embeddings.weight")) return prefix;
  }
  return "";
}

/// Reads tensors and remembers the first error, so that the loading code stays a plain list.
class Loader {
 public:
  Loader(const SafetensorsFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  std::vector<float> tensor(const std::string& name, std::vector<std::uint64_t> shape) {
    if (error_) return {};
    auto read = file_.read(prefix_ + name, shape);
    if (read) return *std::move(read);
    error_ = read.error();
    return {};
  }
  LayerNormWeights norm(const std::string& name, std::uint64_t width) {
    // Checkpoints converted from TensorFlow call the two gamma and beta.
    const bool old = file_.contains(prefix_ + name + ".gamma");
    return {tensor(name + (old ? ".gamma" : ".weight"), {width}), tensor(name + (old ? ".beta" : ".bias"), {width})};
  }
  void fail(const Error& error) {
    if (!error_) error_ = error;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const SafetensorsFile& file_;
  std::string prefix_;
  std::optional<Error> error_;
};

Result<Linear> load_linear(Loader& loader, const std::vector<std::string>& names, std::uint64_t in,
                           std::uint64_t out_each, Epilogue epilogue, Precision precision) {
  std::vector<float> weights;
  std::vector<float> bias;
  for (const std::string& name : names) {
    const std::vector<float> w = loader.tensor(name + ".weight", {out_each, in});
    const std::vector<float> b = loader.tensor(name + ".bias", {out_each});
    if (loader.error()) return *loader.error();
    weights.insert(weights.end(), w.begin(), w.end());
    bias.insert(bias.end(), b.begin(), b.end());
  }
  return Linear::create(weights, bias, in, out_each * names.size(), epilogue, precision);
}

}  // namespace

Epilogue epilogue_of(Activation activation) noexcept {
  switch (activation) {
    case Activation::kGeluErf:
      return Epilogue::kGeluErf;
    case Activation::kGeluTanh:
      return Epilogue::kGeluTanh;
    case Activation::kRelu:
      return Epilogue::kRelu;
  }
  return Epilogue::kNone;
}

Result<TransformerWeights> load_transformer_weights(const ModelConfig& config, const SafetensorsFile& file,
                                                    Precision precision) {
  const auto size = [](int n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t hidden = size(config.hidden);
  const std::uint64_t inner = size(config.intermediate);
  const LayerNames& names = config.architecture == Architecture::kDistilBert ? kDistilNames : kBertNames;
  Loader loader(file, find_prefix(file));
  TransformerWeights weights;
  weights.word_embeddings = loader.tensor("embeddings.word_embeddings.weight", {size(config.vocabulary), hidden});
  weights.position_embeddings = loader.tensor("embeddings.position_embeddings.weight",
                                              {size(config.max_positions + config.position_offset), hidden});
  if (config.token_types > 0) {
    weights.type_embeddings =
        loader.tensor("embeddings.token_type_embeddings.weight", {size(config.token_types), hidden});
  }
  weights.embedding_norm = loader.norm("embeddings.LayerNorm", hidden);
  for (int i = 0; i < config.layers && !loader.error(); ++i) {
    const std::string base = std::string(names.layers) + "." + std::to_string(i) + ".";
    auto qkv = load_linear(loader, {base + names.query, base + names.key, base + names.value}, hidden, hidden,
                           Epilogue::kNone, precision);
    if (!qkv) return qkv.error();
    auto attention_out =
        load_linear(loader, {base + names.attention_out}, hidden, hidden, Epilogue::kAddToOutput, precision);
    if (!attention_out) return attention_out.error();
    auto feed_forward =
        load_linear(loader, {base + names.feed_forward}, hidden, inner, epilogue_of(config.activation), precision);
    if (!feed_forward) return feed_forward.error();
    auto feed_forward_out =
        load_linear(loader, {base + names.feed_forward_out}, inner, hidden, Epilogue::kAddToOutput, precision);
    if (!feed_forward_out) return feed_forward_out.error();
    weights.layers.push_back(LayerWeights{*std::move(qkv), *std::move(attention_out),
                                          loader.norm(base + names.attention_norm, hidden), *std::move(feed_forward),
                                          *std::move(feed_forward_out), loader.norm(base + names.output_norm, hidden)});
  }
  if (loader.error()) return *loader.error();
  return weights;
}

}  // namespace casemate
