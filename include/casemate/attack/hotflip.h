// casemate/attack/hotflip.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"
#include "casemate/text/fragments.h"

namespace casemate {

/// Where adversarial tokens stand.
enum class FlipPlace : std::uint8_t {
  kPrefix,
  kMiddle,  ///< before the middle word
  kSuffix,  ///< at the end, or as near to it as the retriever still reads
  kSpread,  ///< one by one between words, at even distances
};

enum class FlipStart : std::uint8_t {
  kQuery,  ///< the query's tokens, repeated
  kMask,   ///< mask tokens; those that are never replaced are left out of the text
};

/// What is maximised.
enum class FlipGoal : std::uint8_t {
  kSimilarity,  ///< `hotflip`, `hotflip-spread`: the passage's similarity to the query
  kRagPart,     ///< `hotflip-ragpart`: the mean over RAGPart's fragments
  kRagMask,     ///< `hotflip-ragmask`: similarity, less a penalty for what RAGMask would find
};

struct HotFlipOptions {
  FlipGoal goal = FlipGoal::kSimilarity;
  FlipPlace place = FlipPlace::kPrefix;  ///< of no effect with kRagPart, which fills fragments
  FlipStart start = FlipStart::kQuery;   ///< kMask only with kSimilarity
  int tokens = 30;                       ///< adversarial tokens a document; in [1, 256]
  int iterations = 30;                   ///< steps a document; in [0, 10000]
  int candidates = 32;                   ///< replacements that a step tries exactly at most; in [1, 1000]
  /// Of these, how many are tried before the first that helps is taken: the ranking puts the good ones first. in
  /// [1, candidates]
  int batch = 8;
  int documents_per_query = 3;  ///< irrelevant documents that are altered; in [1, 100]
  int clusters = 0;  ///< k-means over the queries: each document aims at a whole cluster; 0: at one query; >= 0

  // kRagPart: the defence that is attacked.
  int fragments = 5;                        ///< N; in [1, 20]
  FragmentUnit unit = FragmentUnit::kWord;  ///< where it may cut
  int poisoned_fragments = 0;               ///< n_p, fragments that get tokens; 0: all; in [0, fragments]

  // kRagMask: the defence that is attacked.
  int mask_length_tokens = 10;   ///< in [1, 512]
  double delta = 0.01;           ///< in [0, 1000]
  double delta_relative = 0;     ///< instead of delta, a share of |similarity|; 0: not used; in [0, 1]
  bool delete_segments = false;  ///< it leaves segments out instead of masking them
  double penalty = 2;            ///< of a drop beyond delta; in [0, 1000]
};

/// HotFlip (Ebrahimi et al. 2018) as corpus poisoning uses it (Zhong et al. 2023; RAGPart's paper, section 4): tokens
/// are put into irrelevant documents and replaced one by one so that the documents come near to a query.
///
/// Each step takes a place (every place once in a random order, then again in another), ranks the vocabulary by the
/// first-order change gradient . (embedding - embedding), and tries the best exactly, `batch` at a time, until one
/// raises the value. Special, unused and unprintable tokens are never proposed. A candidate is dropped unless reading
/// the written text gives exactly the optimised tokens, so that the planted document is worth what was optimised.
///
/// n iterations are the first n of any longer run: with a cache, runs of several lengths cost as much as the longest.
/// The same irrelevant documents are altered as by query-as-poison under one seed. A blank query is given plain copies.
class HotFlip final : public Attack {
 public:
  /// Error: InvalidOption, naming field and range.
  [[nodiscard]] static Result<std::unique_ptr<HotFlip>> create(const HotFlipOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  /// Needs tools.encoder with gradients. Error: also Unsupported without it.
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool aims_at_each_query() const noexcept override { return true; }
  [[nodiscard]] const HotFlipOptions& options() const noexcept { return options_; }

 private:
  explicit HotFlip(const HotFlipOptions& options) : options_(options) {}
  HotFlipOptions options_;
};

}  // namespace casemate
