#include <nlohmann/json.hpp>

#include "casemate/core/untrusted_text.h"
#include "casemate/encoder/checkpoint.h"

namespace casemate {
namespace {

using nlohmann::json;

Error bad(const std::string& what) { return {ErrorCode::kInvalidInput, "config.json: " + what}; }

/// Reads integer fields and remembers the first that is missing or out of range.
class FieldReader {
 public:
  explicit FieldReader(const json& config) : config_(config) {}

  int integer(const char* name, int low, int high, int fallback = -1) {
    const auto it = config_.find(name);
    if (it == config_.end() || it->is_null()) {
      if (fallback < 0 && problem_.empty()) problem_ = std::string(name) + " is missing";
      return fallback;
    }
    if (!it->is_number_integer() || it->get<std::int64_t>() < low || it->get<std::int64_t>() > high) {
      if (problem_.empty()) {
        problem_ = std::string(name) + " must be an integer in " + std::to_string(low) + " to " + std::to_string(high);
      }
      return low;
    }
    return it->get<int>();
  }
  std::string text(const char* name, const char* fallback) const {
    const auto it = config_.find(name);
    return it != config_.end() && it->is_string() ? it->get<std::string>() : fallback;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json& config_;
  std::string problem_;
};

Head head_of(const json& config) {
  const auto it = config.find("architectures");
  if (it == config.end() || !it->is_array() || it->empty() || !(*it)[0].is_string()) return Head::kNone;
  const auto name = (*it)[0].get<std::string>();
  if (name.ends_with("ForQuestionAnswering")) return Head::kQuestionAnswering;
  if (name.ends_with("ForSequenceClassification")) return Head::kSequenceClassification;
  return Head::kNone;
}

int label_count(const json& config) {
  if (const auto it = config.find("num_labels"); it != config.end() && it->is_number_integer()) return it->get<int>();
  if (const auto it = config.find("id2label"); it != config.end() && it->is_object())
    return static_cast<int>(it->size());
  return 2;  // what transformers assumes where nothing is said
}

}  // namespace

Result<ModelConfig> parse_model_config(std::string_view text) {
  const json config = json::parse(text, nullptr, false);
  if (config.is_discarded() || !config.is_object()) return bad("is not a JSON object");
  FieldReader fields(config);
  const std::string type = fields.text("model_type", "");
  ModelConfig model;
  if (type == "bert") {
    model.architecture = Architecture::kBert;
  } else if (type == "roberta") {
    model.architecture = Architecture::kRoberta;
  } else if (type == "xlm-roberta") {
    model.architecture = Architecture::kXlmRoberta;
  } else if (type == "distilbert") {
    model.architecture = Architecture::kDistilBert;
  } else {
    return Error{ErrorCode::kUnsupported, "config.json: model_type \"" + UntrustedText(type).for_log() +
                                              "\" is not one of bert, roberta, xlm-roberta, distilbert"};
  }
  const bool distil = model.architecture == Architecture::kDistilBert;
  const bool roberta = model.architecture == Architecture::kRoberta || model.architecture == Architecture::kXlmRoberta;
  model.layers = fields.integer(distil ? "n_layers" : "num_hidden_layers", 1, 256);
  model.hidden = fields.integer(distil ? "dim" : "hidden_size", 1, 16384);
  model.heads = fields.integer(distil ? "n_heads" : "num_attention_heads", 1, 256);
  model.intermediate = fields.integer(distil ? "hidden_dim" : "intermediate_size", 1, 65536);
  model.vocabulary = fields.integer("vocab_size", 1, 10'000'000);
  model.max_positions = fields.integer("max_position_embeddings", 1, 1'000'000);
  model.token_types = distil ? 0 : fields.integer("type_vocab_size", 0, 64, 2);
  if (roberta) {
    model.position_offset = fields.integer("pad_token_id", 0, 100, 1) + 1;
    model.max_positions -= model.position_offset;
  }
  if (!fields.problem().empty()) return bad(fields.problem());
  if (model.hidden % model.heads != 0) return bad("the hidden size must be a multiple of the number of heads");
  if (model.max_positions < 2) return bad("max_position_embeddings is too small");
  if (const std::string kind = fields.text("position_embedding_type", "absolute"); kind != "absolute") {
    return Error{ErrorCode::kUnsupported, "config.json: position_embedding_type \"" + UntrustedText(kind).for_log() +
                                              "\" is not supported (absolute is)"};
  }
  const std::string activation = fields.text(distil ? "activation" : "hidden_act", "gelu");
  if (activation == "gelu") {
    model.activation = Activation::kGeluErf;
  } else if (activation == "gelu_new" || activation == "gelu_pytorch_tanh") {
    model.activation = Activation::kGeluTanh;
  } else if (activation == "relu") {
    model.activation = Activation::kRelu;
  } else {
    return Error{ErrorCode::kUnsupported, "config.json: activation \"" + UntrustedText(activation).for_log() +
                                              "\" is not one of gelu, gelu_new, relu"};
  }
  if (const auto it = config.find("layer_norm_eps"); it != config.end() && it->is_number()) {
    model.layer_norm_epsilon = it->get<float>();
    if (!(model.layer_norm_epsilon > 0 && model.layer_norm_epsilon < 1)) return bad("layer_norm_eps must be in (0, 1)");
  }
  model.head = head_of(config);
  model.labels = model.head == Head::kSequenceClassification ? label_count(config) : 0;
  if (model.head == Head::kSequenceClassification && (model.labels < 1 || model.labels > 10000))
    return bad("num_labels must be in 1 to 10000");
  return model;
}

}  // namespace casemate
