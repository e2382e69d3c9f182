#include "testing/hash_encoder.h"

#include <array>
#include <cmath>
#include <cstring>

#include "casemate/core/hash.h"
#include "casemate/core/random.h"

namespace casemate::testing {
namespace {

constexpr TokenId kBegin = 0;
constexpr TokenId kEnd = 1;
constexpr TokenId kMask = 2;
constexpr TokenId kFirstWord = 3;
constexpr std::size_t kVocabulary = std::size_t{1} << 20U;

bool is_word_byte(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
}

TokenId id_of(std::string_view word) {
  std::string folded;
  for (const char c : word) folded += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const Digest digest = blake2b(folded);
  std::uint32_t value = 0;
  std::memcpy(&value, digest.data(), sizeof value);
  return kFirstWord + static_cast<TokenId>(value % (kVocabulary - kFirstWord));
}

class HashTokenizer final : public Tokenizer {
 public:
  Tokens tokenize(std::string_view text, SpecialTokens /*mode*/) const override {
    Tokens tokens;
    for (std::size_t at = 0; at < text.size();) {
      if (!is_word_byte(static_cast<unsigned char>(text[at]))) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text.size() && is_word_byte(static_cast<unsigned char>(text[end]))) ++end;
      tokens.ids.push_back(id_of(text.substr(at, end - at)));
      tokens.spans.push_back({at, end});
      at = end;
    }
    return tokens;
  }
  std::string decode(std::span<const TokenId>) const override { return ""; }  // hashes do not go back
  std::size_t vocabulary_size() const noexcept override { return kVocabulary; }
  std::string_view piece(TokenId) const noexcept override { return ""; }
  bool is_special(TokenId id) const noexcept override { return id >= 0 && id < kFirstWord; }
  std::span<const TokenId> prefix() const noexcept override { return begin_; }
  std::span<const TokenId> suffix() const noexcept override { return end_; }
  std::span<const TokenId> pair_separator() const noexcept override { return end_; }
  TokenId mask_id() const noexcept override { return kMask; }
  TokenId unknown_id() const noexcept override { return -1; }
  TokenId padding_id() const noexcept override { return -1; }

 private:
  std::array<TokenId, 1> begin_{kBegin};
  std::array<TokenId, 1> end_{kEnd};
};

class HashEncoder final : public Encoder {
 public:
  explicit HashEncoder(HashEncoderOptions options) : options_(std::move(options)) {
    info_.model = "hash";
    info_.model_hash = to_hex(blake2b("hash encoder " + std::to_string(options_.dimension)));
    info_.dimension = options_.dimension;
    info_.query_prefix = options_.query_prefix;
    info_.passage_prefix = options_.passage_prefix;
    info_.max_tokens = options_.max_tokens;
  }
  const EncoderInfo& info() const noexcept override { return info_; }
  const Tokenizer& tokenizer() const noexcept override { return tokenizer_; }

  Result<EncodeResult> encode(std::span<const std::string_view> texts, const EncodeSettings& settings) const override {
    EncodeResult result;
    std::vector<std::vector<TokenId>> sequences;
    for (const std::string_view text : texts) {
      const std::string& prefix = settings.role == TextRole::kQuery     ? info_.query_prefix
                                  : settings.role == TextRole::kPassage ? info_.passage_prefix
                                                                        : none_;
      Tokens tokens = tokenizer_.tokenize(prefix + std::string(text), settings.special_tokens);
      EncodedInput input;
      input.full_length = tokens.ids.size() + 2;
      if (input.full_length > static_cast<std::size_t>(info_.max_tokens)) {
        tokens.ids.resize(static_cast<std::size_t>(info_.max_tokens) - 2);
      }
      input.input_ids = {kBegin};
      input.input_ids.insert(input.input_ids.end(), tokens.ids.begin(), tokens.ids.end());
      input.input_ids.push_back(kEnd);
      sequences.push_back(input.input_ids);
      result.inputs.push_back(std::move(input));
    }
    auto embeddings = encode_tokens(sequences);
    if (!embeddings) return embeddings.error();
    result.embeddings = *std::move(embeddings);
    return result;
  }

  Result<Embeddings> encode_tokens(std::span<const std::vector<TokenId>> sequences) const override {
    Embeddings out{sequences.size(), info_.dimension, std::vector<float>(sequences.size() * info_.dimension)};
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::vector<double> sum(info_.dimension);
      for (const TokenId id : sequences[i]) {
        if (!options_.failing_word.empty() && id == id_of(options_.failing_word)) {
          return Error{ErrorCode::kModel, "text " + std::to_string(i) + ": its embedding is not finite"};
        }
        RandomStream random(static_cast<std::uint64_t>(id), "hash encoder");
        for (double& x : sum) x += random.normal() * (tokenizer_.is_special(id) ? 0.1 : 1.0);
      }
      double squares = 0;
      for (const double x : sum) squares += x * x;
      for (std::size_t j = 0; j < sum.size(); ++j) {
        out.values[i * info_.dimension + j] = static_cast<float>(sum[j] / std::sqrt(squares));
      }
    }
    return out;
  }

 private:
  HashEncoderOptions options_;
  EncoderInfo info_;
  HashTokenizer tokenizer_;
  std::string none_;
};

}  // namespace

std::unique_ptr<Encoder> make_hash_encoder(HashEncoderOptions options) {
  return std::make_unique<HashEncoder>(std::move(options));
}

}  // namespace casemate::testing
