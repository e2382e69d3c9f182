// src/defend/mask_record.h
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "defend/masked_passage.h"

namespace casemate {

/// Floats as the cache keeps them: little-endian.
[[nodiscard]] std::string floats_to_bytes(std::span<const float> values);
/// Empty where the bytes are not `count` finite floats: a damaged value counts as absent.
[[nodiscard]] std::vector<float> floats_from_bytes(std::string_view bytes, std::size_t count);

/// A passage's segments and their embeddings [segments, d] as one value, so that a cached passage need not be
/// tokenised.
[[nodiscard]] std::string segments_to_bytes(const MaskedPassage& passage, std::span<const float> rows);
/// Fills the passage's segments and `rows`. False, with nothing changed, where the bytes are not such a value for
/// this text.
[[nodiscard]] bool segments_from_bytes(std::string_view bytes, std::size_t dimension, MaskedPassage& passage,
                                       std::vector<float>& rows);

}  // namespace casemate
