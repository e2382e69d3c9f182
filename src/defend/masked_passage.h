// src/defend/masked_passage.h
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/defend/ragmask.h"
#include "casemate/encoder/encoder.h"
#include "casemate/retrieve/stage_evidence.h"

namespace casemate {

/// A passage as the encoder sees it, cut into segments. Its text must outlive it.
struct MaskedPassage {
  std::string_view text;
  Digest text_hash{};
  Digest content_hash{};     ///< under which a cache keeps what is computed from it
  std::vector<TokenId> ids;  ///< framing tokens included; empty until somebody needs them
  struct Segment {
    std::size_t begin = 0;  ///< tokens [begin, end) of `ids`
    std::size_t end = 0;
    TokenSpan bytes;  ///< of the passage
  };
  std::vector<Segment> segments;
  std::size_t tokens = 0;      ///< in segments
  std::size_t tokens_cut = 0;  ///< beyond the encoder's limit
};

/// The passage with its hashes, not yet cut.
[[nodiscard]] MaskedPassage uncut_passage(const PassageCandidate& candidate);

/// Fills `ids`, `segments`, `tokens`, `tokens_cut`. Tokenises as `encode_passages` does: prefix, text mode, limit.
void cut_passage(const Encoder& encoder, std::size_t mask_length_tokens, MaskedPassage& passage);

/// The passage's token ids with `action` done to the segments of `which` (indices, ascending).
[[nodiscard]] std::vector<TokenId> perturbed_ids(const MaskedPassage& passage, std::span<const std::size_t> which,
                                                 MaskAction action, TokenId mask_id);

/// Byte spans widened to whole characters and joined where they touch or only blanks lie between.
[[nodiscard]] std::vector<TokenSpan> joined_spans(std::string_view text, std::span<const TokenSpan> spans);

/// The same spans (ascending, not overlapping) counted in characters.
[[nodiscard]] std::vector<CharacterSpan> character_spans(std::string_view text, std::span<const TokenSpan> spans);

/// `text` with each span replaced by "[...]" (kMask) or by a blank (kDelete).
[[nodiscard]] std::string text_without(std::string_view text, std::span<const TokenSpan> spans, MaskAction action);

}  // namespace casemate
