// casemate/defend/retrieval_defence.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/retrieve/stage_evidence.h"

namespace casemate {

/// A passage that retrieval proposes, with all that a defence may look at.
struct PassageCandidate {
  ChunkId chunk = 0;
  std::string document;
  Digest content_hash{};  ///< of its document: what a cache keeps of it is dropped with it
  bool trusted = false;   ///< part of the owner's sealed set
  UntrustedText text;
  double score = 0;              ///< by which it is ranked so far
  std::vector<float> embedding;  ///< [d] as the store has it; empty where there is none
};

/// What is asked.
struct DefenceQuery {
  UntrustedText text;
  std::vector<float> embedding;  ///< [d]; empty where only words were searched
  std::string tenant = "default";
  std::uint64_t seed = 0;   ///< of whatever a defence draws
  DocumentFilter filter{};  ///< what the caller may see; a defence that looks beyond its candidates keeps to it
  /// The candidates are the first of a dense scan under `filter`, so that a defence may look further down that ranking.
  bool may_extend = false;
};

/// A passage that a defence lets through.
struct DefendedPassage {
  std::size_t candidate = 0;                ///< index into what the defence was given, and after that into `added`
  double score = 0;                         ///< by which it is ranked now
  std::optional<UntrustedText> text_out{};  ///< goes on instead of the passage's own text
};

struct DefendedRanking {
  std::vector<DefendedPassage> passages;  ///< best first, at most top_k
  std::vector<Verdict> verdicts;          ///< one for every candidate that was looked at
  std::vector<PassageCandidate> added{};  ///< passages that were not among the candidates
  std::vector<std::string> notes;
};

/// Names and values of a stage's choices, in a fixed order, for the evidence.
using Parameters = std::vector<std::pair<std::string, std::string>>;

/// Judges a pool of candidates. Immutable after creation and thread-safe unless its class says otherwise.
class RetrievalDefence {
 public:
  virtual ~RetrievalDefence() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual Parameters parameters() const = 0;
  /// How many candidates it wants to see in order to return `top_k`; at least top_k.
  [[nodiscard]] virtual int pool_size(int top_k) const noexcept = 0;

  /// Ranks `candidates` (best first) and keeps at most `top_k`. Candidates beyond `pool_size(top_k)` are not looked at.
  /// No candidate, or fewer than top_k, is a defined case. Error: InvalidArgument where a candidate or the query lacks
  /// the embedding that the defence needs (names the passage) or is not finite; what encoder and model say; Cancelled.
  [[nodiscard]] virtual Result<DefendedRanking> rank(const DefenceQuery& query,
                                                     std::span<const PassageCandidate> candidates, int top_k,
                                                     std::stop_token stop) const = 0;

  /// True where `precompute` does something.
  [[nodiscard]] virtual bool precomputes() const noexcept { return false; }
  /// Puts what does not depend on a query into the cache, and returns for how many passages that was new. A passage
  /// that the encoder or model cannot take is left out. Error: what encoder and model say; Cancelled.
  [[nodiscard]] virtual Result<std::size_t> precompute(std::string_view tenant,
                                                       std::span<const PassageCandidate> passages,
                                                       std::stop_token stop) const;
};

}  // namespace casemate
