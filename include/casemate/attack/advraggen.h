// casemate/attack/advraggen.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"
#include "casemate/encoder/encoder.h"

namespace casemate {

struct AdvRagGenOptions {
  int rounds = 3;               ///< each sees the best paraphrase so far and its rewards; in [1, 20]
  int proposals = 4;            ///< paraphrases a round; in [1, 64]
  int documents_per_query = 3;  ///< irrelevant documents that are paraphrased; in [1, 100]
  int max_new_tokens = 220;     ///< of a paraphrase; in [1, 2048]
  double temperature = 0.8;     ///< of sampling; in (0, 5]
  double semantic_weight = 1;   ///< of each reward in the sum; in [0, 100]
  double retrieval_weight = 1;
  double copying_weight = 1;
};

/// What a paraphrase must be to count: not the query in disguise, and still the document. The paper's bounds.
inline constexpr double kMostCopying = 0.3;    ///< ROUGE-L with the query
inline constexpr int kCopiedRun = 5;           ///< words of the query in a row that make a copy
inline constexpr double kLeastLikeness = 0.6;  ///< to the original, by the judge
/// By the two rewards; whether words are copied in a row is ParaphraseTrace's.
[[nodiscard]] constexpr bool is_admitted_paraphrase(const ParaphraseRewards& rewards) noexcept {
  return rewards.copying <= kMostCopying && rewards.semantic >= kLeastLikeness;
}
/// "all-minilm-l6-v2 (cls)".
[[nodiscard]] std::string encoder_label(const EncoderInfo& encoder);

/// AdvRAGgen (RAGPart's paper, section 3.3 and appendix B.1): a language model paraphrases an irrelevant document so
/// that it is retrieved for a query. The paper trains the model by preferences; here it proposes, is scored, and is
/// shown the best so far (best of n with feedback), and the preferences come out for whoever trains it: in each round
/// the best against the worst proposal.
///
/// Rewards: similarity to the original by tools.judge, or by the retriever's own encoder where there is no other;
/// similarity to the query in the retriever; less ROUGE-L with the query. The original is planted where no paraphrase
/// beats it, and counted as fallen back.
class AdvRagGen final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<AdvRagGen>> create(const AdvRagGenOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "advraggen"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  /// Needs tools.encoder and tools.model. Error: also Unsupported without them; what they say.
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool aims_at_each_query() const noexcept override { return true; }

 private:
  explicit AdvRagGen(const AdvRagGenOptions& options) : options_(options) {}
  [[nodiscard]] Result<CraftedDocument> paraphrase(const AttackInput& input, const AttackTarget& target,
                                                   const CorpusPassage& source, const std::stop_token& stop) const;
  AdvRagGenOptions options_;
};

}  // namespace casemate
