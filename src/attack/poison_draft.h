// src/attack/poison_draft.h
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/encoder/encoder.h"

namespace casemate {

/// A passage as `Encoder::encode_passages` reads it.
struct ReadPassage {
  std::vector<TokenId> ids;      ///< framed, cut at the encoder's limit
  std::vector<TokenSpan> spans;  ///< bytes of the passage, one for each id; empty for framing and the encoder's prefix
  std::size_t full_length = 0;   ///< of `ids` without the limit
};
[[nodiscard]] ReadPassage read_passage(const Encoder& encoder, std::string_view text);

/// Adversarial tokens that stand together.
struct SlotGroup {
  std::size_t at = 0;     ///< byte of the source before which they stand; a word begins there, or it is the end
  std::size_t slots = 0;  ///< how many
};

/// A document with room for adversarial tokens, and its versions with tokens in them.
class PoisonDraft {
 public:
  static constexpr std::size_t kCutOff = std::numeric_limits<std::size_t>::max();

  /// A text and how the encoder reads it.
  struct Version {
    std::vector<TokenId> slots;          ///< the token in each place; the mask token where it is still open
    std::string text;                    ///< without open places
    std::vector<TokenId> ids;            ///< what the encoder reads; open places are mask tokens
    std::vector<std::size_t> positions;  ///< of each place in `ids`; kCutOff where it is beyond the encoder's limit
    std::vector<TokenSpan> slot_bytes;   ///< of each place in `text`; empty where it is open
    std::vector<TokenSpan> group_bytes;  ///< of each group in `text`
  };

  /// `groups` in order of their places. `encoder` must outlive it.
  PoisonDraft(const Encoder& encoder, std::string source, std::vector<SlotGroup> groups);

  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }
  [[nodiscard]] const std::vector<SlotGroup>& groups() const noexcept { return groups_; }

  /// The version with `slots` in it; nothing where reading its text would not give these tokens back in their places.
  [[nodiscard]] std::optional<Version> write(std::span<const TokenId> slots) const;

  /// As many tokens of `wanted`, repeated from its start, as there are places: those that survive one after another.
  /// Nothing where no token of `wanted` does.
  [[nodiscard]] std::optional<std::vector<TokenId>> fill(std::span<const TokenId> wanted) const;

 private:
  const Encoder& encoder_;
  std::string source_;
  std::vector<SlotGroup> groups_;
  std::size_t slots_ = 0;
};

/// Byte before which a passage can take `tokens` more tokens and the encoder still reads them: where a word begins, or
/// the end. 0 where there is no room behind any word.
[[nodiscard]] std::size_t last_readable_place(const Encoder& encoder, std::string_view passage, std::size_t tokens);

}  // namespace casemate
