#include "defend/mask_embedder.h"

#include <algorithm>

#include "defend/mask_record.h"

namespace casemate {
namespace {

/// Tokens encoded between two looks at the stop token: about two seconds of a small model on one core.
constexpr std::size_t kTokensBetweenStops = 16384;

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

void MaskEmbedder::cut(MaskedPassage& passage) const {
  cut_passage(encoder_, static_cast<std::size_t>(options_.mask_length_tokens), passage);
}

bool MaskEmbedder::load(std::string_view tenant, MaskedPassage& passage, Segments& segments) const {
  if (cache_ == nullptr) return false;
  const auto found = cache_->get(tenant, passage.content_hash, segments_key(passage));
  std::vector<float> rows;
  if (!found || !segments_from_bytes(*found, encoder_.info().dimension, passage, rows)) return false;
  segments = std::move(rows);
  return true;
}

Result<std::vector<MaskEmbedder::Segments>> MaskEmbedder::embed_segments(std::string_view tenant,
                                                                         std::span<MaskedPassage* const> passages,
                                                                         std::stop_token stop, MaskCosts& costs) const {
  std::vector<Segments> out(passages.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < passages.size(); ++i) {
    if (load(tenant, *passages[i], out[i])) continue;
    cut(*passages[i]);
    missing.push_back(i);
  }
  for (std::size_t next = 0; next < missing.size();) {
    if (stop.stop_requested()) return cancelled();
    std::vector<std::vector<TokenId>> sequences;
    std::size_t tokens = 0;
    std::size_t end = next;
    for (; end < missing.size() && tokens < kTokensBetweenStops; ++end) {
      const MaskedPassage& passage = *passages[missing[end]];
      for (std::size_t s = 0; s < passage.segments.size(); ++s)
        sequences.push_back(perturbed_ids(passage, std::span(&s, 1), options_.perturb, encoder_.tokenizer().mask_id()));
      tokens += passage.ids.size() * passage.segments.size();
    }
    auto rows = encode(sequences, costs);
    if (!rows) return rows.error();
    std::vector<CacheEntry> entries;
    std::size_t row = 0;
    for (; next < end; ++next) {
      const MaskedPassage& passage = *passages[missing[next]];
      const std::span<const std::vector<float>> own(rows->data() + row, passage.segments.size());
      row += own.size();
      if (std::any_of(own.begin(), own.end(), [](const auto& each) { return each.empty(); })) continue;
      std::vector<float> all;
      for (const auto& each : own) all.insert(all.end(), each.begin(), each.end());
      if (cache_ != nullptr)
        entries.push_back({passage.content_hash, segments_key(passage), segments_to_bytes(passage, all)});
      out[missing[next]] = std::move(all);
    }
    if (!entries.empty()) cache_->put(tenant, entries);
  }
  return out;
}

std::vector<TokenId> MaskEmbedder::ids_of(const Variant& variant) const {
  const TokenId mask_id = encoder_.tokenizer().mask_id();
  if (!variant.passage->ids.empty()) return perturbed_ids(*variant.passage, variant.which, variant.action, mask_id);
  MaskedPassage whole = *variant.passage;
  cut(whole);
  return perturbed_ids(whole, variant.which, variant.action, mask_id);
}

Result<std::vector<std::vector<float>>> MaskEmbedder::embed_variants(std::string_view tenant,
                                                                     std::span<const Variant> variants,
                                                                     std::stop_token stop, MaskCosts& costs) const {
  const std::size_t dimension = encoder_.info().dimension;
  std::vector<std::vector<float>> out(variants.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (cache_ != nullptr) {
      const auto found = cache_->get(tenant, variants[i].passage->content_hash, variant_key(variants[i]));
      if (found) out[i] = floats_from_bytes(*found, dimension);
    }
    if (out[i].empty()) missing.push_back(i);
  }
  for (std::size_t next = 0; next < missing.size();) {
    if (stop.stop_requested()) return cancelled();
    std::vector<std::vector<TokenId>> sequences;
    std::size_t tokens = 0;
    std::size_t end = next;
    for (; end < missing.size() && tokens < kTokensBetweenStops; ++end) {
      sequences.push_back(ids_of(variants[missing[end]]));
      tokens += sequences.back().size();
    }
    auto rows = encode(sequences, costs);
    if (!rows) return rows.error();
    std::vector<CacheEntry> entries;
    for (std::size_t row = 0; next < end; ++next, ++row) {
      const Variant& variant = variants[missing[next]];
      out[missing[next]] = std::move((*rows)[row]);
      if (cache_ == nullptr || out[missing[next]].empty()) continue;
      entries.push_back({variant.passage->content_hash, variant_key(variant), floats_to_bytes(out[missing[next]])});
    }
    if (!entries.empty()) cache_->put(tenant, entries);
  }
  return out;
}

}  // namespace casemate
