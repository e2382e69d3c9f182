// casemate/attack/corpus_poisons.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"

namespace casemate {

// The three corpus attacks of the SQuAD poisoning study. Each alters copies of `rate` of the corpus' passages, drawn
// under the seed: the same passages for the three of them. A planted document is meant for the targets that its source
// passage answers.

struct NearDuplicateOptions {
  double rate = 0.05;  ///< planted documents as a share of the corpus, rounded; in [0, 1]
  int edits = 0;       ///< words left out of the copy, drawn at random; 0: verbatim, as in the study; in [0, 100]
};

/// Copies of passages. A verbatim copy has the original's embedding, so who ranks first is decided by how ties are
/// broken (here: what was indexed first); with `edits` it has its own score.
class NearDuplicate final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<NearDuplicate>> create(const NearDuplicateOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "near-duplicate"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;

 private:
  explicit NearDuplicate(const NearDuplicateOptions& options) : options_(options) {}
  NearDuplicateOptions options_;
};

struct ContradictoryOptions {
  double rate = 0.05;  ///< as above
};

/// Copies in which the right answer to one of the passage's questions is swapped, wherever it stands, for an answer to
/// a question about another passage: of the same kind (year, number, name, other words) and number of words where there
/// is one, else of the same kind, else any. Where no answer of the passage stands in its text, the copy is plain and
/// counted as fallen back.
class Contradictory final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Contradictory>> create(const ContradictoryOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "contradictory"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;

 private:
  explicit Contradictory(const ContradictoryOptions& options) : options_(options) {}
  ContradictoryOptions options_;
};

struct IrrelevantOptions {
  double rate = 0.05;  ///< as above
};

/// Copies with their words shuffled: the passage's vocabulary without its sense.
class Irrelevant final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Irrelevant>> create(const IrrelevantOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "irrelevant"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;

 private:
  explicit Irrelevant(const IrrelevantOptions& options) : options_(options) {}
  IrrelevantOptions options_;
};

}  // namespace casemate
