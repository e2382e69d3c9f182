#include "defend/mask_embedder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace casemate {
namespace {

/// Tokens encoded between two looks at the stop token: about two seconds of a small model on one core.
constexpr std::size_t kTokensBetweenStops = 16384;

static_assert(std::endian::native == std::endian::little, "cached embeddings are little-endian floats");

std::string to_bytes(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// Empty where the bytes are not `count` finite floats: a damaged value counts as absent.
std::vector<float> from_bytes(const std::string& bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(float)) return {};
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); })) return {};
  return values;
}

Error cancelled() { return {ErrorCode::kCancelled, "stopped while embedding masked passages"}; }

}  // namespace

MaskEmbedder::MaskEmbedder(const RagMaskOptions& options, const Encoder& encoder, PassageCache* cache)
    : options_(options), encoder_(encoder), cache_(cache) {
  const EncoderInfo& info = encoder.info();
  std::string all = "ragmask 1";
  for (const std::string& part : {info.model_hash, info.passage_prefix, std::string(pooling_name(info.pooling)),
                                  std::to_string(info.normalized ? 1 : 0), std::to_string(info.max_tokens),
                                  std::to_string(info.dimension), std::to_string(options.mask_length_tokens)}) {
    all += '\n' + std::to_string(part.size()) + ':' + part;
  }
  model_key_ = to_hex(blake2b(all)).substr(0, 32);
}

std::string MaskEmbedder::key_of(const MaskedPassage& passage, MaskAction action) const {
  return "ragmask/" + model_key_ + "/" + std::string(mask_action_name(action)) + "/" + to_hex(passage.text_hash);
}

std::string MaskEmbedder::segments_key(const MaskedPassage& passage) const {
  return key_of(passage, options_.perturb) + "/each";
}

std::string MaskEmbedder::variant_key(const Variant& variant) const {
  std::string set;
  for (const std::size_t index : variant.which) set += std::to_string(index) + ",";
  return key_of(*variant.passage, variant.action) + "/" + to_hex(blake2b(set));
}

Result<std::vector<std::vector<float>>> MaskEmbedder::encode(std::span<const std::vector<TokenId>> sequences,
                                                             MaskCosts& costs) const {
  std::vector<std::vector<float>> rows(sequences.size());
  for (const auto& sequence : sequences) costs.forward_tokens += sequence.size();
  const auto together = encoder_.encode_tokens(sequences);
  if (together) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = together->row(i);
      rows[i].assign(row.begin(), row.end());
    }
    return rows;
  }
  if (together.error().code != ErrorCode::kModel) return together.error();
  // One text that the model cannot embed must not take the others with it.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    costs.forward_tokens += sequences[i].size();
    auto alone = encoder_.encode_tokens(sequences.subspan(i, 1));
    if (alone) {
      rows[i] = std::move(alone->values);
    } else if (alone.error().code != ErrorCode::kModel) {
      return alone.error();
    }
  }
  return rows;
}

MaskEmbedder::Segments MaskEmbedder::cached_segments(std::string_view tenant, const MaskedPassage& passage) const {
  if (cache_ == nullptr) return {};
  const auto found = cache_->get(tenant, passage.content_hash, segments_key(passage));
  return found ? from_bytes(*found, (passage.segments.size() + 1) * dimension()) : Segments{};
}

Result<std::vector<MaskEmbedder::Segments>> MaskEmbedder::embed_segments(std::string_view tenant,
                                                                         std::span<const MaskedPassage* const> passages,
                                                                         std::stop_token stop, MaskCosts& costs) const {
  std::vector<Segments> out(passages.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    out[i] = cached_segments(tenant, *passages[i]);
    if (out[i].empty()) missing.push_back(i);
  }
  for (std::size_t next = 0; next < missing.size();) {
    if (stop.stop_requested()) return cancelled();
    std::vector<std::vector<TokenId>> sequences;
    std::size_t tokens = 0;
    std::size_t end = next;
    for (; end < missing.size() && tokens < kTokensBetweenStops; ++end) {
      const MaskedPassage& passage = *passages[missing[end]];
      sequences.push_back(passage.ids);
      for (std::size_t s = 0; s < passage.segments.size(); ++s)
        sequences.push_back(perturbed_ids(passage, std::span(&s, 1), options_.perturb, mask_id()));
      tokens += passage.ids.size() * (passage.segments.size() + 1);
    }
    auto rows = encode(sequences, costs);
    if (!rows) return rows.error();
    std::vector<CacheEntry> entries;
    std::size_t row = 0;
    for (; next < end; ++next) {
      const MaskedPassage& passage = *passages[missing[next]];
      Segments& all = out[missing[next]];
      const std::span<const std::vector<float>> own(rows->data() + row, passage.segments.size() + 1);
      row += own.size();
      if (std::any_of(own.begin(), own.end(), [](const auto& each) { return each.empty(); })) continue;
      for (const auto& each : own) all.insert(all.end(), each.begin(), each.end());
      if (cache_ != nullptr) entries.push_back({passage.content_hash, segments_key(passage), to_bytes(all)});
    }
    if (!entries.empty()) cache_->put(tenant, entries);
  }
  return out;
}

Result<std::vector<std::vector<float>>> MaskEmbedder::embed_variants(std::string_view tenant,
                                                                     std::span<const Variant> variants,
                                                                     std::stop_token stop, MaskCosts& costs) const {
  std::vector<std::vector<float>> out(variants.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (cache_ != nullptr) {
      const auto found = cache_->get(tenant, variants[i].passage->content_hash, variant_key(variants[i]));
      if (found) out[i] = from_bytes(*found, dimension());
    }
    if (out[i].empty()) missing.push_back(i);
  }
  for (std::size_t next = 0; next < missing.size();) {
    if (stop.stop_requested()) return cancelled();
    std::vector<std::vector<TokenId>> sequences;
    std::size_t tokens = 0;
    std::size_t end = next;
    for (; end < missing.size() && tokens < kTokensBetweenStops; ++end) {
      const Variant& variant = variants[missing[end]];
      sequences.push_back(perturbed_ids(*variant.passage, variant.which, variant.action, mask_id()));
      tokens += sequences.back().size();
    }
    auto rows = encode(sequences, costs);
    if (!rows) return rows.error();
    std::vector<CacheEntry> entries;
    for (std::size_t row = 0; next < end; ++next, ++row) {
      const Variant& variant = variants[missing[next]];
      out[missing[next]] = std::move((*rows)[row]);
      if (cache_ == nullptr || out[missing[next]].empty()) continue;
      entries.push_back({variant.passage->content_hash, variant_key(variant), to_bytes(out[missing[next]])});
    }
    if (!entries.empty()) cache_->put(tenant, entries);
  }
  return out;
}

}  // namespace casemate
