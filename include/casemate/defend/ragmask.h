// casemate/defend/ragmask.h
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/defend/retrieval_defence.h"
#include "casemate/encoder/encoder.h"

namespace casemate {

class MaskEmbedder;
class PassageCache;
struct MaskCalibration;
struct MaskCalibrationCase;
struct MaskCalibrationSettings;

/// What is done to a segment's tokens.
enum class MaskAction : std::uint8_t {
  kMask,    ///< each becomes the encoder's mask token
  kDelete,  ///< they are left out
};

/// How segments are chosen for exact examination.
enum class MaskScreen : std::uint8_t {
  kNone,      ///< all are embedded
  kGradient,  ///< those whose drop, predicted from a backward pass, is largest
};

/// Which candidates are examined when passages are ranked.
enum class MaskExamine : std::uint8_t {
  kAll,        ///< the whole pool
  kReachable,  ///< until no other one can reach the first p, if leaving pieces out raises no similarity
};

enum class MaskTextOut : std::uint8_t {
  kOriginal,   ///< the passage as it is goes on
  kSanitised,  ///< suspicious pieces are left out of it
};

struct RagMaskOptions {
  int mask_length_tokens = 10;  ///< tokens of a segment (the paper's m); in [1, 512]
  double delta = 0.01;          ///< largest harmless drop, in units of the encoder's similarity; in [0, 1000]
  double delta_relative = 0;    ///< instead of `delta`: a share of |similarity|; 0: not used; in [0, 1]
  MaskAction perturb = MaskAction::kMask;   ///< to find suspicious segments
  MaskAction sanitise = MaskAction::kMask;  ///< to suspicious segments, before the passage is ranked anew
  int pool_factor = 4;                      ///< candidates per passage returned (the paper's alpha); in [1, 100]
  MaskScreen screen = MaskScreen::kNone;    ///< kGradient needs a DifferentiableEncoder
  double screen_share = 0.5;  ///< kDelete: predicted drops from this share of delta on are worth embedding; in [0, 1]
  int screen_exact = 1;       ///< segments of a passage that screening embeds at most; in [1, 10000]
  MaskTextOut text_out = MaskTextOut::kOriginal;
  MaskExamine examine = MaskExamine::kAll;
};

/// One segment of a passage and what its perturbation did.
struct SegmentJudgement {
  TokenSpan bytes;       ///< of the passage
  double perturbed = 0;  ///< similarity without the segment; predicted where not `exact`
  bool exact = true;
  bool suspicious = false;
};

/// What RAGMask found about one candidate.
struct MaskJudgement {
  double similarity = 0;            ///< of the passage as it is
  double delta = 0;                 ///< the threshold that applied to it
  double sanitised_similarity = 0;  ///< equals `similarity` where nothing is suspicious
  std::size_t tokens = 0;           ///< examined
  std::size_t tokens_cut = 0;       ///< beyond the encoder's limit: not embedded and so not examined
  std::vector<SegmentJudgement> segments;
  bool embedding_replaced = false;     ///< the candidate's embedding was missing or unusable and was made anew
  std::optional<std::string> failure;  ///< it could not be examined: why. The other fields mean nothing then.
  bool examined = true;                ///< false: out of reach (MaskExamine::kReachable); no segments then

  [[nodiscard]] std::size_t suspicious() const;
  [[nodiscard]] double largest_drop() const;  ///< over the segments; 0 where there are none
};

/// Tokens that went through the encoder, for whoever wants to know what it costs.
struct MaskCosts {
  std::size_t forward_tokens = 0;
  std::size_t backward_tokens = 0;
};

struct MaskReport {
  std::vector<MaskJudgement> judgements;  ///< one a candidate, in order
  MaskCosts costs;
};

/// RAGMask (arXiv 2512.24268): ranks passages by what is left of them when the pieces that matter too much are masked.
///
/// Each candidate's tokens are cut into segments of `mask_length_tokens`; framing tokens and the encoder's passage
/// prefix belong to none. One segment at a time is perturbed. If the similarity to the query stays above the passage's
/// similarity less delta it is harmless, else suspicious. The passage is embedded anew with all suspicious segments
/// sanitised, and the pool ranked by that, equal scores by chunk id. docs/defences/ragmask.md says what this stops.
///
/// Defined cases: a passage without tokens has no segments and keeps its score. A passage of one segment is judged like
/// any other; one of which everything is suspicious is ranked by what the encoder makes of mask tokens, or of nothing.
/// Tokens beyond the encoder's limit are not examined, as they are not in the embedding. Special tokens written in a
/// passage are text. A passage that the encoder cannot embed with a segment perturbed is dropped. Verdicts say each.
///
/// Thread-safe. Judgements do not depend on the cache nor on the rest of the pool; with MaskExamine::kReachable the
/// pool decides which candidates are judged.
class RagMask final : public RetrievalDefence {
 public:
  /// `encoder` and `cache` (null: nothing is kept) must outlive it. Error: InvalidOption, naming field, value and
  /// range, or what the encoder lacks (a mask token, gradients, framing tokens).
  [[nodiscard]] static Result<std::unique_ptr<RagMask>> create(const RagMaskOptions& options, const Encoder& encoder,
                                                               PassageCache* cache);
  ~RagMask() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "ragmask"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  [[nodiscard]] const RagMaskOptions& options() const noexcept { return options_; }

  /// As RetrievalDefence. A query without embedding is embedded. Error: InvalidArgument where the query's embedding is
  /// of another dimension or not finite.
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

  /// The judgements behind `rank`, about all `candidates`. Error: as `rank`.
  [[nodiscard]] Result<MaskReport> examine(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                           std::stop_token stop) const;

  /// The judgements behind `rank` of `top_k` passages with MaskExamine::kReachable: candidates in the order of their
  /// similarity, until `top_k` examined ones are nearer to the query than every other is as a whole. Error: as `rank`.
  [[nodiscard]] Result<MaskReport> examine_reachable(const DefenceQuery& query,
                                                     std::span<const PassageCandidate> candidates, int top_k,
                                                     std::stop_token stop) const;

  /// Puts the embeddings that do not depend on a query into the cache; passages that are there already cost a look.
  /// Returns how many were new; a passage that cannot be embedded is left out. Error: Model for other failures;
  /// Cancelled.
  [[nodiscard]] bool precomputes() const noexcept override { return true; }
  [[nodiscard]] Result<std::size_t> precompute(std::string_view tenant, std::span<const PassageCandidate> passages,
                                               std::stop_token stop) const override;

 private:
  friend Result<MaskCalibration> calibrate_ragmask(const RagMask& ragmask, std::span<const MaskCalibrationCase> cases,
                                                   const MaskCalibrationSettings& settings, std::stop_token stop);
  RagMask(const RagMaskOptions& options, const Encoder& encoder, PassageCache* cache);
  /// `examine` under other thresholds or without screening.
  [[nodiscard]] Result<MaskReport> examine_as(const RagMaskOptions& options, const DefenceQuery& query,
                                              std::span<const PassageCandidate> candidates, std::stop_token stop) const;
  RagMaskOptions options_;
  const Encoder& encoder_;
  std::unique_ptr<const MaskEmbedder> embedder_;
};

[[nodiscard]] std::string_view mask_action_name(MaskAction action) noexcept;  ///< "mask", "delete"

}  // namespace casemate
