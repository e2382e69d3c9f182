#include "support/tiny_checkpoint.h"

#include <fstream>

namespace casemate::test {
namespace {

using nlohmann::json;
using Shape = std::vector<std::size_t>;

constexpr std::size_t kHidden = 24;
constexpr std::size_t kInner = 40;
constexpr std::size_t kPositions = 40;
constexpr int kLayers = 2;
constexpr int kHeads = 3;

const std::vector<std::string> kBertPieces = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "ferry",
                                              "wait",  "##s",   "for",   "tide",  "a",      "?",   "."};
const std::vector<std::string> kRobertaSpecial = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};

json bert_tokenizer() {
  json vocabulary;
  for (std::size_t i = 0; i < kBertPieces.size(); ++i) vocabulary[kBertPieces[i]] = i;
  return {{"model", {{"type", "WordPiece"}, {"vocab", vocabulary}, {"unk_token", "[UNK]"}}},
          {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", true}}}};
}

json roberta_tokenizer() {
  // Every byte is a piece; no merges.
  json vocabulary;
  json added = json::array();
  for (std::size_t i = 0; i < kRobertaSpecial.size(); ++i) {
    vocabulary[kRobertaSpecial[i]] = i;
    added.push_back({{"id", i}, {"content", kRobertaSpecial[i]}, {"special", true}});
  }
  std::size_t next = kRobertaSpecial.size();
  for (char c = 'a'; c <= 'z'; ++c) vocabulary[std::string(1, c)] = next++;
  vocabulary["\xC4\xA0"] = next++;  // the blank in the byte alphabet
  vocabulary["?"] = next++;
  return {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}},
          {"added_tokens", added},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}}};
}

/// Adds tensors with random values under a prefix.
class Weights {
 public:
  Weights(std::string prefix, RandomStream random) : prefix_(std::move(prefix)), random_(random) {}
  void add(const std::string& name, const Shape& shape, double scale = 0.3) { put(prefix_ + name, shape, scale); }
  void put(const std::string& name, const Shape& shape, double scale = 0.3) {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random_.normal() * scale);
    all.insert_or_assign(name, std::pair(shape, values));
  }
  void linear(const std::string& name, std::size_t in, std::size_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void norm(const std::string& name) {
    add(name + ".weight", {kHidden}, 1.0);
    add(name + ".bias", {kHidden});
  }
  std::map<std::string, std::pair<Shape, std::vector<float>>> all;

 private:
  std::string prefix_;
  RandomStream random_;
};

void add_layer(Weights& weights, int i, bool distil) {
  const std::string base = (distil ? "transformer.layer." : "encoder.layer.") + std::to_string(i) + ".";
  const char* attention[] = {"attention.self.query", "attention.self.key", "attention.self.value",
                             "attention.output.dense"};
  const char* distil_attention[] = {"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"};
  for (int part = 0; part < 4; ++part)
    weights.linear(base + (distil ? distil_attention[part] : attention[part]), kHidden, kHidden);
  weights.norm(base + (distil ? "sa_layer_norm" : "attention.output.LayerNorm"));
  weights.linear(base + (distil ? "ffn.lin1" : "intermediate.dense"), kHidden, kInner);
  weights.linear(base + (distil ? "ffn.lin2" : "output.dense"), kInner, kHidden);
  weights.norm(base + (distil ? "output_layer_norm" : "output.LayerNorm"));
}

void add_head(Weights& weights, Architecture architecture, Head head, const std::string& prefix) {
  const auto linear = [&](const std::string& name, std::size_t in, std::size_t out) {
    weights.put(name + ".weight", {out, in});
    weights.put(name + ".bias", {out});
  };
  if (head == Head::kQuestionAnswering) linear("qa_outputs", kHidden, 2);
  if (head != Head::kSequenceClassification) return;
  if (architecture == Architecture::kBert) {
    linear(prefix + "pooler.dense", kHidden, kHidden);
    linear("classifier", kHidden, 1);
  } else if (architecture == Architecture::kDistilBert) {
    linear("pre_classifier", kHidden, kHidden);
    linear("classifier", kHidden, 1);
  } else {
    linear("classifier.dense", kHidden, kHidden);
    linear("classifier.out_proj", kHidden, 1);
  }
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
}

}  // namespace

std::string safetensors_bytes(const std::map<std::string, std::pair<Shape, std::vector<float>>>& tensors) {
  json header = json::object();
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.second.data()), tensor.second.size() * sizeof(float));
    header[name] = {{"dtype", "F32"}, {"shape", tensor.first}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>((text.size() >> (8 * i)) & 0xFFU);
  return out + text + data;
}

TinyCheckpoint write_tiny_checkpoint(const std::string& folder, Architecture architecture, Head head, bool prefixed,
                                     const char* activation) {
  const bool distil = architecture == Architecture::kDistilBert;
  const bool roberta = architecture == Architecture::kRoberta || architecture == Architecture::kXlmRoberta;
  const json tokenizer = roberta ? roberta_tokenizer() : bert_tokenizer();
  const std::size_t vocabulary = tokenizer["model"]["vocab"].size();
  const char* names[] = {"bert", "roberta", "xlm-roberta", "distilbert"};
  const std::string type = names[static_cast<int>(architecture)];
  const std::string prefix = !prefixed ? "" : distil ? "distilbert." : roberta ? "roberta." : "bert.";
  json config = {{"model_type", type},
                 {"vocab_size", vocabulary},
                 {"max_position_embeddings", kPositions + (roberta ? 2 : 0)},
                 {"pad_token_id", roberta ? 1 : 0}};
  if (distil) {
    config.update({{"n_layers", kLayers},
                   {"dim", kHidden},
                   {"n_heads", kHeads},
                   {"hidden_dim", kInner},
                   {"activation", activation}});
  } else {
    config.update({{"num_hidden_layers", kLayers},
                   {"hidden_size", kHidden},
                   {"num_attention_heads", kHeads},
                   {"intermediate_size", kInner},
                   {"hidden_act", activation},
                   {"type_vocab_size", roberta ? 1 : 2},
                   {"layer_norm_eps", 1e-5}});
  }
  if (head == Head::kQuestionAnswering) config["architectures"] = {"TestForQuestionAnswering"};
  if (head == Head::kSequenceClassification) {
    config["architectures"] = {"TestForSequenceClassification"};
    config["num_labels"] = 1;
  }
  Weights weights(prefix, RandomStream(17, type));
  weights.add("embeddings.word_embeddings.weight", {vocabulary, kHidden});
  weights.add("embeddings.position_embeddings.weight", {kPositions + (roberta ? 2 : 0), kHidden});
  if (!distil)
    weights.add("embeddings.token_type_embeddings.weight", {roberta ? std::size_t{1} : std::size_t{2}, kHidden});
  weights.norm("embeddings.LayerNorm");
  for (int i = 0; i < kLayers; ++i) add_layer(weights, i, distil);
  add_head(weights, architecture, head, prefix);
  write_file(folder + "/config.json", config.dump());
  write_file(folder + "/tokenizer.json", tokenizer.dump());
  write_file(folder + "/model.safetensors", safetensors_bytes(weights.all));
  TinyCheckpoint made;
  made.folder = folder;
  const auto parsed = parse_model_config(config.dump());
  if (!parsed) throw std::runtime_error(parsed.error().message);
  made.config = *parsed;
  for (const auto& [name, tensor] : weights.all) {
    const bool has_prefix = !prefix.empty() && name.starts_with(prefix);
    made.tensors[has_prefix ? name.substr(prefix.size()) : name] = tensor.second;
  }
  return made;
}

}  // namespace casemate::test
