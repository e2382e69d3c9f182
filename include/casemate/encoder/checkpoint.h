// casemate/encoder/checkpoint.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A tensor inside a memory-mapped safetensors file, converted to float32 when read.
struct TensorInfo {
  std::string dtype;  ///< "F32", "F16", "BF16", "I64", ...
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  ///< byte offset in the file
  std::uint64_t end = 0;
};

/// Reads the safetensors format: 8 bytes little-endian header length, JSON header, tensor bytes.
///
/// The file is memory-mapped. Everything in the header is checked before use: lengths, offsets inside the file, no
/// overlap of offset and shape (bytes = product of the shape times the element size, without overflow), known dtypes.
class SafetensorsFile {
 public:
  /// Error: NotFound, Io; InvalidInput naming the file, the tensor and what is wrong.
  [[nodiscard]] static Result<std::unique_ptr<SafetensorsFile>> open(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  [[nodiscard]] const std::map<std::string, TensorInfo, std::less<>>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] bool contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  /// A copy as float32 (F32, F16, BF16 and F64 are converted). Error: NotFound; Mismatch where the shape is not
  /// `shape`; Unsupported dtype; all name the tensor.
  [[nodiscard]] Result<std::vector<float>> read(std::string_view name, std::span<const std::uint64_t> shape) const;

 private:
  SafetensorsFile() = default;
  std::string path_;
  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
};

/// Which naming and position scheme a checkpoint follows.
enum class Architecture : std::uint8_t { kBert, kRoberta, kXlmRoberta, kDistilBert };
enum class Activation : std::uint8_t { kGeluErf, kGeluTanh, kRelu };
enum class Head : std::uint8_t {
  kNone,                    ///< embeddings
  kQuestionAnswering,       ///< start and end logits (extractive reader)
  kSequenceClassification,  ///< one or more logits for a text or pair (reranker)
};

/// config.json of a Hugging Face BERT-family folder. All sizes are checked to be positive and sane.
struct ModelConfig {
  Architecture architecture = Architecture::kBert;
  Head head = Head::kNone;
  Activation activation = Activation::kGeluErf;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int intermediate = 0;
  int vocabulary = 0;
  int max_positions = 0;    ///< longest input in tokens (RoBERTa's two reserved positions taken off)
  int position_offset = 0;  ///< position of the first token (padding id + 1 for RoBERTa)
  int token_types = 0;      ///< 0 where the architecture has none (DistilBERT)
  int labels = 0;           ///< logits of a classification head
  float layer_norm_epsilon = 1e-12F;
};

/// Error: InvalidInput, naming the field; Unsupported model_type or options (relative positions), naming them.
[[nodiscard]] Result<ModelConfig> parse_model_config(std::string_view json);

}  // namespace casemate
