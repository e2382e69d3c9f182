// casemate/pipeline/evidence.h
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/untrusted_text.h"
#include "casemate/retrieve/stage_evidence.h"
#include "casemate/sanitize/output_guard.h"
#include "casemate/sanitize/sanitizer.h"

namespace casemate {

/// Version of the evidence's JSON form (docs/evidence.schema.json). It rises when a field changes its meaning or goes.
inline constexpr int kEvidenceVersion = 1;

/// What one isolated group of passages said.
struct GroupEvidence {
  std::vector<ChunkId> passages;
  UntrustedText answer;  ///< empty under decoding, where groups have no answers of their own
  bool abstains = false;
  bool too_long = false;               ///< does not fit the model's context, so it was not asked
  bool stands_behind = false;          ///< its vote won, it uses a hint, or it agrees with most tokens
  std::optional<double> smallest_gap;  ///< how near its answer was to another, in probability
  std::string vote;                    ///< voting: a letter, or empty
  std::vector<std::string> keywords;   ///< keyword
  double agreement = 0;                ///< decoding: share of the tokens that it holds likeliest
  double abstention_probability = 0;   ///< decoding
};

/// One emitted token of decoding aggregation.
struct StepEvidence {
  UntrustedText text;
  bool from_passages = true;  ///< false: emitted as the model alone would
  double gap = 0;             ///< between the two largest sums of probabilities
};

/// How an aggregated answer came about.
struct GenerationEvidence {
  std::string method;         ///< "voting", "keyword", "decoding"
  bool from_passages = true;  ///< false: the passages agreed on nothing, so the model answered alone
  std::vector<GroupEvidence> groups;
  std::vector<std::pair<std::string, int>> counts;  ///< groups by letter or keyword, most first
  std::vector<std::string> hints;                   ///< keyword: what the second prompt was given
  std::vector<StepEvidence> steps;                  ///< decoding
  std::uint64_t decoded_tokens = 0;                 ///< went through the network
  std::uint64_t reused_tokens = 0;                  ///< shared between groups or kept from earlier questions
  bool certified = false;                           ///< a certificate was asked for
  std::int64_t k_prime = 0;                         ///< the largest number of passages that cannot change the answer
  std::string limited_by;                           ///< why not one more
};

/// A stage that could not run, where the policy lets the query go on without it.
struct DegradedStage {
  std::string stage;
  std::string reason;
};

/// What a stage took.
struct StageTime {
  std::string stage;
  double seconds = 0;
};

/// What happened to one query, stage by stage. Server, command line, evaluation and certificates all write this.
struct Evidence {
  std::string policy;
  std::vector<StageEvidence> stages;
  std::optional<GenerationEvidence> generation;  ///< where groups of passages were aggregated
  std::optional<SanitizerRecord> sanitizer{};    ///< what stood in the passages' place; its passages are the sources
  std::optional<GuardReport> guard{};            ///< what the answer reproduced
  std::vector<DegradedStage> degraded{};         ///< what the answer is less defended for than the policy says
  std::vector<StageTime> times{};  ///< in the order in which they ran; not in the JSON form, which is the same each run
};

/// One JSON object by docs/evidence.schema.json; valid UTF-8 whatever the passages hold.
[[nodiscard]] std::string to_json(const Evidence& evidence);

}  // namespace casemate
