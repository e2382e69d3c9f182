// src/attack/slot_layout.h
#pragma once

#include <string_view>
#include <vector>

#include "attack/poison_draft.h"
#include "casemate/attack/hotflip.h"

namespace casemate {

/// Where an attack with `options` puts its tokens into `passage`: groups in order of their places, `options.tokens`
/// places in all. In a passage that is longer than the encoder reads, they go where they are still read; RAGPart's go
/// to the starts of fragments, which are read each by itself.
[[nodiscard]] std::vector<SlotGroup> lay_out_slots(const Encoder& encoder, std::string_view passage,
                                                   const HotFlipOptions& options);

}  // namespace casemate
