#include "models/local_model.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "casemate/core/file_system.h"
#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "models/safe_name.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxJsonBytes = 64'000'000;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // what the safetensors format allows
constexpr std::array<std::string_view, 4> kTypes = {"bert", "roberta", "xlm-roberta", "distilbert"};
constexpr std::array<const char*, 3> kTokenizers = {"tokenizer.json", "vocab.txt", "vocab.json"};
/// Taken along where they are there. README and licence are the model's own terms.
constexpr std::array<const char*, 14> kOptional = {"tokenizer.json",
                                                   "vocab.txt",
                                                   "vocab.json",
                                                   "merges.txt",
                                                   "tokenizer_config.json",
                                                   "special_tokens_map.json",
                                                   "added_tokens.json",
                                                   "sentencepiece.bpe.model",
                                                   "modules.json",
                                                   "sentence_bert_config.json",
                                                   "config_sentence_transformers.json",
                                                   "1_Pooling/config.json",
                                                   "README.md",
                                                   "LICENSE"};

std::string quoted(const std::string& text) { return "\"" + UntrustedText(text).for_log(80) + "\""; }

bool is_file(const std::string& path) {
  const Result<FileInfo> info = FileSystem::posix().info(path);
  return info.ok() && info->is_regular;
}

Result<json> read_json(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxJsonBytes);
  if (!text) return text.error();
  json value = json::parse(*text, nullptr, false);
  if (value.is_discarded() || !value.is_object()) {
    return Error{ErrorCode::kInvalidInput, path + ": is not a JSON object"};
  }
  return value;
}

std::uint64_t little_endian(const unsigned char* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = (value << 8U) | bytes[i];
  return value;
}

Status check_safetensors(const std::string& path) {
  const auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  const auto refuse = [&](const std::string& why) { return Error{ErrorCode::kInvalidInput, path + ": " + why}; };
  const std::uint64_t size = (*file)->size();
  std::array<unsigned char, 8> prefix{};
  if (size < prefix.size()) return refuse("is too short to be a safetensors file");
  if (Status read = (*file)->read(0, prefix.size(), prefix.data()); !read) return read;
  const std::uint64_t header_bytes = little_endian(prefix.data(), 8);
  if (header_bytes > kMaxHeaderBytes || header_bytes > size - prefix.size()) {
    return refuse("its header claims " + std::to_string(header_bytes) + " bytes (no safetensors file, or cut short)");
  }
  std::string text(header_bytes, '\0');
  if (Status read = (*file)->read(prefix.size(), text.size(), text.data()); !read) return read;
  const json header = json::parse(text, nullptr, false);
  if (header.is_discarded() || !header.is_object() || header.empty()) return refuse("its header is no JSON object");
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto offsets = tensor.is_object() ? tensor.find("data_offsets") : tensor.end();
    const bool valid = tensor.is_object() && offsets != tensor.end() && offsets->is_array() && offsets->size() == 2 &&
                       (*offsets)[0].is_number_unsigned() && (*offsets)[1].is_number_unsigned();
    if (!valid) return refuse("tensor " + quoted(name) + " has no data_offsets");
    end = std::max(end, (*offsets)[1].get<std::uint64_t>());
  }
  const std::uint64_t data_bytes = size - prefix.size() - header_bytes;
  if (end != data_bytes) {
    return refuse("its tensors need " + std::to_string(end) + " bytes, " + std::to_string(data_bytes) +
                  " are there (is the download complete?)");
  }
  return {};
}

Status check_weights(const std::string& folder) {
  const std::string path = join_path(folder, "model.safetensors");
  if (is_file(path)) return check_safetensors(path);
  if (is_file(join_path(folder, "model.safetensors.index.json"))) {
    return Error{ErrorCode::kUnsupported,
                 folder + ": the weights are cut into several files; save them as one model.safetensors"};
  }
  if (is_file(join_path(folder, "pytorch_model.bin"))) {
    return Error{ErrorCode::kUnsupported,
                 folder +
                     ": there is only pytorch_model.bin, a pickle, which can run code when it is opened; convert it "
                     "to model.safetensors first (in transformers: save_pretrained with safe_serialization)"};
  }
  return Error{ErrorCode::kNotFound, path + ": is missing"};
}

ModelPurpose purpose_of(std::string_view architecture) {
  if (architecture.ends_with("ForQuestionAnswering")) return ModelPurpose::kReader;
  if (architecture.ends_with("ForSequenceClassification")) return ModelPurpose::kReranker;
  return ModelPurpose::kEncoder;
}

/// The prompts that newer sentence-transformers folders carry.
Status read_prompts(const std::string& folder, ModelOverrides& overrides) {
  const std::string path = join_path(folder, "config_sentence_transformers.json");
  if (!is_file(path)) return {};
  const Result<json> config = read_json(path);
  if (!config) return config.error();
  const auto prompts = config->find("prompts");
  if (prompts == config->end() || !prompts->is_object()) return {};
  for (const auto& [name, text] : prompts->items()) {
    if (!text.is_string()) continue;
    if (name == "query") overrides.query_prefix = text.get<std::string>();
    if (name == "passage" || name == "document") overrides.passage_prefix = text.get<std::string>();
  }
  return {};
}

Result<LocalModel> inspect_folder(const std::string& folder) {
  const std::string config_path = join_path(folder, "config.json");
  const Result<json> config = read_json(config_path);
  if (!config) {
    if (config.error().code != ErrorCode::kNotFound) return config.error();
    return Error{ErrorCode::kNotFound, config_path + ": is missing; a Hugging Face model folder has it"};
  }
  const auto type = config->find("model_type");
  const std::string type_name = type != config->end() && type->is_string() ? type->get<std::string>() : "";
  if (std::find(kTypes.begin(), kTypes.end(), type_name) == kTypes.end()) {
    return Error{ErrorCode::kUnsupported, config_path + ": model_type " + quoted(type_name) +
                                              " is not one of bert, roberta, xlm-roberta, distilbert"};
  }
  if (Status weights = check_weights(folder); !weights) return weights.error();
  const auto has = [&](const char* name) { return is_file(join_path(folder, name)); };
  if (std::none_of(kTokenizers.begin(), kTokenizers.end(), has)) {
    return Error{ErrorCode::kNotFound,
                 folder + ": has no tokenizer (tokenizer.json, or vocab.txt, or vocab.json with merges.txt)"};
  }
  LocalModel model;
  model.folder = folder;
  const auto architectures = config->find("architectures");
  if (architectures != config->end() && architectures->is_array() && !architectures->empty() &&
      (*architectures)[0].is_string()) {
    model.architecture = UntrustedText((*architectures)[0].get<std::string>()).for_log(80);
  }
  model.purpose = purpose_of(model.architecture);
  if (model.architecture.empty()) model.architecture = type_name;
  model.files = {"config.json", "model.safetensors"};
  for (const char* name : kOptional) {
    if (has(name)) model.files.emplace_back(name);
  }
  if (Status prompts = read_prompts(folder, model.overrides); !prompts) return prompts.error();
  return model;
}

Result<LocalModel> inspect_gguf(const std::string& path) {
  const auto refuse = [&](const std::string& why) { return Error{ErrorCode::kInvalidInput, path + ": " + why}; };
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!is_safe_file_name(name)) return refuse("rename it: only letters, digits and . _ - + may be in its name");
  const auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  std::array<unsigned char, 24> head{};
  if ((*file)->size() < head.size()) return refuse("is too short to be a GGUF file");
  if (Status read = (*file)->read(0, head.size(), head.data()); !read) return read.error();
  if (std::string_view(reinterpret_cast<const char*>(head.data()), 4) != "GGUF") {
    return refuse("does not begin with GGUF, so it is no GGUF file");
  }
  const std::uint64_t version = little_endian(head.data() + 4, 4);
  if (version < 2 || version > 3) {
    return Error{ErrorCode::kUnsupported,
                 path + ": is GGUF version " + std::to_string(version) + "; versions 2 and 3 are supported"};
  }
  // Each tensor and each entry of metadata takes more than a byte: larger counts cannot be true.
  const std::uint64_t tensors = little_endian(head.data() + 8, 8);
  const std::uint64_t entries = little_endian(head.data() + 16, 8);
  if (tensors == 0 || tensors > (*file)->size() || entries > (*file)->size()) {
    return refuse("its header counts " + std::to_string(tensors) + " tensors; it is broken or holds a vocabulary only");
  }
  LocalModel model;
  model.folder = parent_path(path);
  model.files = {name};
  model.purpose = ModelPurpose::kLanguageModel;
  model.architecture = "GGUF version " + std::to_string(version);
  return model;
}

}  // namespace

Result<LocalModel> inspect_local_model(const std::string& from) {
  std::string path = from;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const Result<FileInfo> info = FileSystem::posix().info(path);
  if (!info) return info.error();
  if (info->is_directory) return inspect_folder(path);
  if (info->is_regular && path.ends_with(".gguf")) return inspect_gguf(path);
  return Error{ErrorCode::kUnsupported, path + ": is neither a Hugging Face model folder nor a .gguf file"};
}

}  // namespace casemate
