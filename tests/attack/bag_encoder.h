// tests/attack/bag_encoder.h
#pragma once

#include "casemate/core/random.h"
#include "casemate/encoder/differentiable_encoder.h"
#include "casemate/text/wordpiece_tokenizer.h"

namespace casemate::test {

/// An encoder that is linear: a text is the mean of its tokens' vectors, framing included. What the best token in each
/// place is can be said without a search.
class BagEncoder final : public DifferentiableEncoder {
 public:
  static constexpr std::size_t kWidth = 16;

  explicit BagEncoder(std::vector<std::string> pieces, int max_tokens = 64) {
    RandomStream random(5, "bag encoder");
    for (std::size_t i = 0; i < pieces.size() * kWidth; ++i) rows_.push_back(static_cast<float>(random.normal()));
    tokenizer_ = *create_wordpiece_tokenizer(std::move(pieces), WordPieceOptions{});
    info_.model = "bag";
    info_.model_hash = "bag";
    info_.dimension = kWidth;
    info_.normalized = false;
    info_.max_tokens = max_tokens;
  }

  const EncoderInfo& info() const noexcept override { return info_; }
  const Tokenizer& tokenizer() const noexcept override { return *tokenizer_; }
  std::span<const float> word_embeddings() const noexcept override { return rows_; }
  std::size_t hidden() const noexcept override { return kWidth; }
  EncoderInfo& info() { return info_; }
  std::span<float> row(TokenId id) { return std::span(rows_).subspan(static_cast<std::size_t>(id) * kWidth, kWidth); }

  Result<Embeddings> encode_tokens(std::span<const std::vector<TokenId>> sequences) const override {
    Embeddings out{sequences.size(), kWidth, std::vector<float>(sequences.size() * kWidth)};
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      for (std::size_t d = 0; d < kWidth; ++d) {
        double sum = 0;
        for (const TokenId id : sequences[i])
          sum += static_cast<double>(rows_[static_cast<std::size_t>(id) * kWidth + d]);
        out.values[i * kWidth + d] = static_cast<float>(sum / static_cast<double>(sequences[i].size()));
      }
    }
    return out;
  }

  Result<EncodeResult> encode(std::span<const std::string_view> texts, const EncodeSettings& settings) const override {
    EncodeResult out;
    std::vector<std::vector<TokenId>> sequences;
    for (const std::string_view text : texts) {
      const std::string& prefix = settings.role == TextRole::kPassage ? info_.passage_prefix : info_.query_prefix;
      const Tokens tokens = tokenizer_->tokenize(prefix + std::string(text), settings.special_tokens);
      const auto limit = static_cast<std::size_t>(info_.max_tokens);
      std::vector<TokenId> ids(tokenizer_->prefix().begin(), tokenizer_->prefix().end());
      for (const TokenId id : tokens.ids) {
        if (ids.size() + 1 < limit) ids.push_back(id);
      }
      ids.insert(ids.end(), tokenizer_->suffix().begin(), tokenizer_->suffix().end());
      out.inputs.push_back({ids, tokens.ids.size() + 2});
      sequences.push_back(std::move(ids));
    }
    out.embeddings = *encode_tokens(sequences);
    return out;
  }

  Result<GradientResult> gradient(std::span<const std::vector<TokenId>> sequences,
                                  const LossGradient& loss_gradient) const override {
    GradientResult out;
    out.embeddings = *encode_tokens(sequences);
    out.hidden = kWidth;
    out.offsets.push_back(0);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      std::vector<float> loss(kWidth);
      loss_gradient(i, out.embeddings.row(i), loss);
      const std::size_t length = sequences[i].size();
      for (std::size_t t = 0; t < length; ++t) {
        for (const float each : loss) out.gradients.push_back(each / static_cast<float>(length));
        out.presence.push_back(0);
      }
      out.offsets.push_back(out.offsets.back() + length);
    }
    out.forward_tokens = out.backward_tokens = out.offsets.back();
    return out;
  }

 private:
  EncoderInfo info_;
  std::vector<float> rows_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace casemate::test
