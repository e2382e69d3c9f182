// casemate/encoder/encoder.h
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

/// How token states become one vector.
enum class Pooling : std::uint8_t {
  kMean,  ///< mean over all tokens, framing tokens included
  kCls,   ///< the first token
};

[[nodiscard]] std::string_view pooling_name(Pooling pooling) noexcept;  ///< "mean", "cls"
[[nodiscard]] Result<Pooling> parse_pooling(std::string_view name);

/// What the linear layers compute in (docs/encoder.md, "Fixed point").
enum class Precision : std::uint8_t {
  kFloat32,
  kFixed16,  ///< 16-bit fixed point with exact 32-bit sums: faster where the processor has VNNI, less exact
};

[[nodiscard]] std::string_view precision_name(Precision precision) noexcept;  ///< "float32", "fixed16"
[[nodiscard]] Result<Precision> parse_precision(std::string_view name);

/// A row-major matrix of `rows` x `dimension` float32.
struct Embeddings {
  std::size_t rows = 0;
  std::size_t dimension = 0;
  std::vector<float> values;

  [[nodiscard]] std::span<const float> row(std::size_t i) const {
    return std::span<const float>(values).subspan(i * dimension, dimension);
  }
};

/// What was done to one text before encoding.
struct EncodedInput {
  std::vector<TokenId> input_ids;  ///< framing tokens included, after truncation
  std::size_t full_length = 0;     ///< tokens the text has without truncation, framing included
  [[nodiscard]] bool truncated() const noexcept { return full_length > input_ids.size(); }
};

struct EncodeResult {
  Embeddings embeddings;             ///< [n, d], one row a text, in order
  std::vector<EncodedInput> inputs;  ///< n entries
};

/// What a store must remember about the encoder that filled it.
struct EncoderInfo {
  std::string model;       ///< name for people
  std::string model_hash;  ///< BLAKE2b-256 hex over weights, configuration, tokenizer and, if not float32, precision
  std::size_t dimension = 0;
  Pooling pooling = Pooling::kMean;
  bool normalized = true;  ///< embeddings have norm 1
  std::string query_prefix;
  std::string passage_prefix;
  int max_tokens = 0;  ///< longer inputs are cut, and said to be
  Precision precision = Precision::kFloat32;
};

/// Which prefix goes before a text: encoders such as E5 are trained with different ones.
enum class TextRole : std::uint8_t { kPlain, kQuery, kPassage };

struct EncodeSettings {
  TextRole role = TextRole::kPlain;
  SpecialTokens special_tokens = SpecialTokens::kAsText;  ///< kHuggingFace only for trusted text
};

/// Turns texts into vectors. Immutable after creation, thread-safe; uses the thread pool it was given.
/// Results do not depend on the thread count nor on what else is in the batch.
class Encoder {
 public:
  virtual ~Encoder() = default;
  [[nodiscard]] virtual const EncoderInfo& info() const noexcept = 0;
  [[nodiscard]] virtual const Tokenizer& tokenizer() const noexcept = 0;

  /// Encodes texts; those longer than info().max_tokens are cut, which `inputs` tells.
  /// Error: Model, naming the index of a text whose embedding is not finite or has norm zero.
  [[nodiscard]] virtual Result<EncodeResult> encode(std::span<const std::string_view> texts,
                                                    const EncodeSettings& settings) const = 0;

  /// Encodes token sequences as they are (framing included by the caller). Sequences must be nonempty, at most
  /// max positions long, with ids in the vocabulary. Error: InvalidArgument, naming the index; Model as above.
  [[nodiscard]] virtual Result<Embeddings> encode_tokens(std::span<const std::vector<TokenId>> sequences) const = 0;

  [[nodiscard]] Result<EncodeResult> encode_queries(std::span<const std::string_view> texts) const {
    return encode(texts, {TextRole::kQuery, SpecialTokens::kAsText});
  }
  [[nodiscard]] Result<EncodeResult> encode_passages(std::span<const std::string_view> texts) const {
    return encode(texts, {TextRole::kPassage, SpecialTokens::kAsText});
  }
};

}  // namespace casemate
