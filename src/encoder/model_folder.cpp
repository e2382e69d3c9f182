#include "encoder/model_folder.h"

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/text/tokenizer_loader.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxJsonBytes = 64'000'000;

bool exists(const std::string& path) { return FileSystem::posix().info(path).ok(); }

Result<std::string> hash_files(const std::string& folder) {
  Hasher hasher(Hasher::Kind::kBlake2b);
  std::string buffer(1U << 20U, '\0');
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt",
                           "vocab.json", "merges.txt"}) {
    auto file = FileSystem::posix().open(join_path(folder, name));
    if (!file) {
      if (file.error().code == ErrorCode::kNotFound) continue;
      return file.error();
    }
    hasher.update(std::string(name) + ":" + std::to_string((*file)->size()) + "\n");
    for (std::uint64_t at = 0; at < (*file)->size(); at += buffer.size()) {
      const std::size_t length = std::min<std::uint64_t>(buffer.size(), (*file)->size() - at);
      if (Status read = (*file)->read(at, length, buffer.data()); !read) return read.error();
      hasher.update(std::string_view(buffer).substr(0, length));
    }
  }
  return to_hex(hasher.finish());
}

Result<std::optional<json>> read_json_if_there(const std::string& path) {
  if (!exists(path)) return std::optional<json>();
  auto text = read_file(path, kMaxJsonBytes);
  if (!text) return text.error();
  json value = json::parse(*text, nullptr, false);
  if (value.is_discarded()) return Error{ErrorCode::kInvalidInput, path + ": is not JSON"};
  return std::optional<json>(std::move(value));
}

bool flag(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

}  // namespace

Result<ModelFolder> load_model_folder(const std::string& folder, Precision precision) {
  ModelFolder model;
  const std::string config_path = join_path(folder, "config.json");
  auto config_text = read_file(config_path, kMaxJsonBytes);
  if (!config_text) return config_text.error();
  auto config = parse_model_config(*config_text);
  if (!config) return config.error().in(folder);
  model.config = *config;
  if (!exists(join_path(folder, "model.safetensors"))) {
    const bool pickled = exists(join_path(folder, "pytorch_model.bin"));
    return Error{
        ErrorCode::kNotFound,
        folder + ": model.safetensors is missing" +
            (pickled ? " (pytorch_model.bin is a pickle, which can run code; convert it to safetensors)" : "")};
  }
  auto tensors = SafetensorsFile::open(join_path(folder, "model.safetensors"));
  if (!tensors) return tensors.error();
  model.tensors = *std::move(tensors);
  auto tokenizer = load_tokenizer(folder);
  if (!tokenizer) return tokenizer.error();
  model.tokenizer = *std::move(tokenizer);
  if (model.tokenizer->vocabulary_size() > static_cast<std::size_t>(model.config.vocabulary)) {
    return Error{ErrorCode::kMismatch,
                 folder + ": the tokenizer has " + std::to_string(model.tokenizer->vocabulary_size()) +
                     " tokens, the model has embeddings for " + std::to_string(model.config.vocabulary)};
  }
  auto transformer = Transformer::create(model.config, *model.tensors, precision);
  if (!transformer) return transformer.error();
  model.transformer = *std::move(transformer);
  auto hash = hash_files(folder);
  if (!hash) return hash.error();
  model.hash = *std::move(hash);
  const std::size_t end = folder.find_last_not_of('/');
  const std::string trimmed = folder.substr(0, end == std::string::npos ? 0 : end + 1);
  model.name = trimmed.substr(trimmed.rfind('/') + 1);
  return model;
}

Result<SentenceSettings> read_sentence_settings(const std::string& folder) {
  SentenceSettings settings;
  auto modules = read_json_if_there(join_path(folder, "modules.json"));
  if (!modules) return modules.error();
  if (*modules && (*modules)->is_array()) {
    bool normalize = false;
    for (const json& module : **modules) {
      if (!module.is_object() || !module.contains("type") || !module["type"].is_string()) continue;
      const auto type = module["type"].get<std::string>();
      normalize = normalize || type.ends_with(".Normalize");
    }
    settings.normalize = normalize;
  }
  auto pooling = read_json_if_there(join_path(folder, "1_Pooling/config.json"));
  if (!pooling) return pooling.error();
  if (*pooling && (*pooling)->is_object()) {
    const bool cls = flag(**pooling, "pooling_mode_cls_token");
    const bool mean = flag(**pooling, "pooling_mode_mean_tokens");
    if (cls == mean)
      return Error{ErrorCode::kUnsupported, folder + "/1_Pooling/config.json: only cls or mean pooling is supported"};
    settings.pooling = cls ? Pooling::kCls : Pooling::kMean;
  }
  auto limits = read_json_if_there(join_path(folder, "sentence_bert_config.json"));
  if (!limits) return limits.error();
  if (*limits && (*limits)->is_object()) {
    const auto it = (*limits)->find("max_seq_length");
    if (it != (*limits)->end() && it->is_number_integer()) settings.max_tokens = it->get<int>();
  }
  return settings;
}

EncodedInput frame(const Tokenizer& tokenizer, const Tokens& tokens, int max_tokens) {
  const auto prefix = tokenizer.prefix();
  const auto suffix = tokenizer.suffix();
  const std::size_t framing = prefix.size() + suffix.size();
  EncodedInput input;
  input.full_length = tokens.ids.size() + framing;
  const std::size_t keep = std::min(tokens.ids.size(), static_cast<std::size_t>(max_tokens) - framing);
  input.input_ids.reserve(keep + framing);
  input.input_ids.assign(prefix.begin(), prefix.end());
  input.input_ids.insert(input.input_ids.end(), tokens.ids.begin(),
                         tokens.ids.begin() + static_cast<std::ptrdiff_t>(keep));
  input.input_ids.insert(input.input_ids.end(), suffix.begin(), suffix.end());
  return input;
}

}  // namespace casemate
