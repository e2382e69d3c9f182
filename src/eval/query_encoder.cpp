#include "eval/query_encoder.h"

#include <algorithm>

#include "casemate/encoder/differentiable_encoder.h"

namespace casemate {
namespace {

constexpr std::size_t kBatch = 256;

/// Queries are looked up, so that their tokens are not told: nothing that ranks asks for them.
class QueryLookup {
 public:
  QueryLookup(const Encoder& encoder, const QueryEmbeddings& queries, const Attack* attack, std::uint64_t seed)
      : encoder_(encoder), queries_(queries), attack_(attack), seed_(seed) {}

  [[nodiscard]] Result<EncodeResult> encode(std::span<const std::string_view> texts,
                                            const EncodeSettings& settings) const {
    if (settings.role != TextRole::kQuery) return encoder_.encode(texts, settings);
    const bool all =
        std::all_of(texts.begin(), texts.end(), [this](std::string_view text) { return !queries_.find(text).empty(); });
    EncodeResult out;
    if (all) {
      out.inputs.resize(texts.size());
      out.embeddings.rows = texts.size();
      out.embeddings.dimension = encoder_.info().dimension;
      for (const std::string_view text : texts) {
        const auto row = queries_.find(text);
        out.embeddings.values.insert(out.embeddings.values.end(), row.begin(), row.end());
      }
    } else {
      auto encoded = encoder_.encode(texts, settings);
      if (!encoded) return encoded;
      out = *std::move(encoded);
    }
    for (std::size_t i = 0; i < texts.size() && attack_ != nullptr; ++i) {
      attack_->disturb(
          texts[i], seed_,
          std::span(out.embeddings.values).subspan(i * out.embeddings.dimension, out.embeddings.dimension));
    }
    return out;
  }

 private:
  const Encoder& encoder_;
  const QueryEmbeddings& queries_;
  const Attack* attack_;
  std::uint64_t seed_;
};

template <class Base>
class QueryEncoder : public Base {
 public:
  QueryEncoder(const Base& encoder, QueryLookup lookup) : encoder_(encoder), lookup_(lookup) {}
  [[nodiscard]] const EncoderInfo& info() const noexcept override { return encoder_.info(); }
  [[nodiscard]] const Tokenizer& tokenizer() const noexcept override { return encoder_.tokenizer(); }
  [[nodiscard]] Result<EncodeResult> encode(std::span<const std::string_view> texts,
                                            const EncodeSettings& settings) const override {
    return lookup_.encode(texts, settings);
  }
  [[nodiscard]] Result<Embeddings> encode_tokens(std::span<const std::vector<TokenId>> sequences) const override {
    return encoder_.encode_tokens(sequences);
  }

 protected:
  const Base& encoder_;

 private:
  QueryLookup lookup_;
};

class DifferentiableQueryEncoder final : public QueryEncoder<DifferentiableEncoder> {
 public:
  using DifferentiableEncoder::gradient;
  using QueryEncoder::QueryEncoder;
  [[nodiscard]] Result<GradientResult> gradient(std::span<const std::vector<TokenId>> sequences,
                                                const LossGradient& loss_gradient) const override {
    return encoder_.gradient(sequences, loss_gradient);
  }
  [[nodiscard]] std::span<const float> word_embeddings() const noexcept override { return encoder_.word_embeddings(); }
  [[nodiscard]] std::size_t hidden() const noexcept override { return encoder_.hidden(); }
};

}  // namespace

Status QueryEmbeddings::add(const Encoder& encoder, std::span<const std::string_view> texts, Progress& progress,
                            std::stop_token stop) {
  std::vector<std::string_view> missing;
  for (const std::string_view text : texts) {
    if (known_.emplace(text, std::vector<float>()).second) missing.push_back(text);
  }
  if (missing.empty()) return {};
  ProgressStage stage(progress, "embedding questions", missing.size(), "questions");
  for (std::size_t first = 0; first < missing.size(); first += kBatch) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const std::size_t count = std::min(kBatch, missing.size() - first);
    const auto encoded = encoder.encode_queries(std::span(missing).subspan(first, count));
    if (!encoded) return encoded.error();
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = encoded->embeddings.row(i);
      known_.find(missing[first + i])->second.assign(row.begin(), row.end());
    }
    stage.update(first + count);
  }
  return {};
}

std::span<const float> QueryEmbeddings::find(std::string_view text) const {
  const auto found = known_.find(text);
  if (found == known_.end()) return {};
  return found->second;
}

std::unique_ptr<Encoder> make_query_encoder(const Encoder& encoder, const QueryEmbeddings& queries,
                                            const Attack* attack, std::uint64_t seed) {
  const QueryLookup lookup(encoder, queries, attack, seed);
  if (const auto* differentiable = dynamic_cast<const DifferentiableEncoder*>(&encoder))
    return std::make_unique<DifferentiableQueryEncoder>(*differentiable, lookup);
  return std::make_unique<QueryEncoder<Encoder>>(encoder, lookup);
}

}  // namespace casemate
