// casemate/retrieve/stage_evidence.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/store/document.h"

namespace casemate {

/// What became of one passage in one stage.
enum class Decision : std::uint8_t {
  kKept,     ///< went on
  kDropped,  ///< did not go on
  kMoved,    ///< went on at another rank
  kMasked,   ///< went on, judged with parts masked
};
[[nodiscard]] std::string_view decision_name(Decision decision) noexcept;  ///< "kept", "dropped", "moved", "masked"

/// A piece [begin, end) of a passage in characters (code points), not bytes.
struct CharacterSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const CharacterSpan&, const CharacterSpan&) = default;
};

/// One stage's decision about one passage: who decided what, why, by which score and threshold.
struct Verdict {
  ChunkId chunk = 0;
  std::string document;
  Decision decision = Decision::kKept;
  std::string reason;                                      ///< in words, safe to print
  std::optional<double> score;                             ///< what was compared
  std::optional<double> threshold;                         ///< with what
  std::vector<std::pair<std::string, double>> measures{};  ///< further figures: "votes", "lists", "perplexity"
  std::vector<CharacterSpan> masked{};                     ///< pieces that were found suspicious
  std::optional<ChunkId> copy_of{};                        ///< the passage that this one copies or contradicts
};

/// What one stage saw and decided.
struct StageEvidence {
  std::string stage;                                            ///< "retrieve", "ragpart", "fit", "generate"
  std::vector<std::pair<std::string, std::string>> parameters;  ///< name and value, in a fixed order
  std::size_t passages_in = 0;
  std::size_t passages_out = 0;
  std::vector<Verdict> verdicts;
  std::vector<std::string> notes;  ///< whatever a reader must know: truncation, damage, neutralised text
};

}  // namespace casemate
