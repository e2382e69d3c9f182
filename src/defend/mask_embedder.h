// src/defend/mask_embedder.h
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/defend/passage_cache.h"
#include "defend/masked_passage.h"

namespace casemate {

/// Embeddings of perturbed passages, from the cache or made in packed batches and then kept. Thread-safe.
class MaskEmbedder {
 public:
  MaskEmbedder(const RagMaskOptions& options, const Encoder& encoder, PassageCache* cache);

  /// A passage with each segment perturbed: [segments, d]. Nothing where the encoder failed on one of them.
  using Segments = std::optional<std::vector<float>>;

  /// Cuts the passages and embeds them; those in the cache are neither tokenised nor embedded (their `ids` stay empty).
  /// One result a passage. `costs` grows by what was computed. Error: what is not the passages' fault; Cancelled.
  [[nodiscard]] Result<std::vector<Segments>> embed_segments(std::string_view tenant,
                                                             std::span<MaskedPassage* const> passages,
                                                             std::stop_token stop, MaskCosts& costs) const;
  /// Segments and embeddings from the cache; false where it has none.
  [[nodiscard]] bool load(std::string_view tenant, MaskedPassage& passage, Segments& segments) const;
  void cut(MaskedPassage& passage) const;

  /// A passage with `action` done to a set of segments; the passage as it is where the set is empty.
  struct Variant {
    const MaskedPassage* passage = nullptr;
    std::vector<std::size_t> which;  ///< ascending
    MaskAction action = MaskAction::kMask;
  };
  /// [d] a variant; empty where the encoder failed on it.
  [[nodiscard]] Result<std::vector<std::vector<float>>> embed_variants(std::string_view tenant,
                                                                       std::span<const Variant> variants,
                                                                       std::stop_token stop, MaskCosts& costs) const;

 private:
  [[nodiscard]] std::string key_of(const MaskedPassage& passage, MaskAction action) const;
  [[nodiscard]] std::string segments_key(const MaskedPassage& passage) const;
  [[nodiscard]] std::string variant_key(const Variant& variant) const;
  [[nodiscard]] std::vector<TokenId> ids_of(const Variant& variant) const;
  [[nodiscard]] Result<std::vector<std::vector<float>>> encode(std::span<const std::vector<TokenId>> sequences,
                                                               MaskCosts& costs) const;

  RagMaskOptions options_;
  const Encoder& encoder_;
  PassageCache* cache_;
  std::string model_key_;  ///< all that an embedding depends on besides the passage, hashed
};

}  // namespace casemate
