// casemate/pipeline/evidence.h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/untrusted_text.h"
#include "casemate/retrieve/retriever.h"

namespace casemate {

/// Version of the evidence's JSON form (docs/evidence.schema.json). It rises when a field changes its meaning or goes.
inline constexpr int kEvidenceVersion = 1;

/// What became of one passage in one stage.
enum class Decision : std::uint8_t {
  kKept,     ///< went on
  kDropped,  ///< did not go on
  kMoved,    ///< went on at another rank
  kMasked,   ///< went on with parts masked
};
[[nodiscard]] std::string_view decision_name(Decision decision) noexcept;  ///< "kept", "dropped", "moved", "masked"

/// One stage's decision about one passage: who decided what, why, by which score and threshold.
struct Verdict {
  ChunkId chunk = 0;
  std::string document;
  Decision decision = Decision::kKept;
  std::string reason;               ///< in words, safe to print
  std::optional<double> score;      ///< what was compared
  std::optional<double> threshold;  ///< with what
};

/// What one stage saw and decided.
struct StageEvidence {
  std::string stage;                                            ///< "retrieve", "fit", "generate"
  std::vector<std::pair<std::string, std::string>> parameters;  ///< name and value, in a fixed order
  std::size_t passages_in = 0;
  std::size_t passages_out = 0;
  std::vector<Verdict> verdicts;
  std::vector<std::string> notes;  ///< whatever a reader must know: truncation, damage, neutralised text
};

/// What happened to one query, stage by stage. Server, command line, evaluation and certificates all write this.
struct Evidence {
  std::string policy;
  std::vector<StageEvidence> stages;
};

/// One JSON object by docs/evidence.schema.json; valid UTF-8 whatever the passages hold.
[[nodiscard]] std::string to_json(const Evidence& evidence);

}  // namespace casemate
