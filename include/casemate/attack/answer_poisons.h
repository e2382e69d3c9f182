// casemate/attack/answer_poisons.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"

namespace casemate {

// Attacks on answers (RobustRAG's paper, section V): each document wants one wrong answer to one query. The wrong
// answer is the target's own where it has one, else another target's right answer of the same kind (year, number, name,
// other) and length that neither answers the query nor stands in it. What stands in the documents: answer_attacks.h.

struct PiaOptions {
  int repeat = 10;              ///< times the instruction stands in the document; in [1, 100]
  int documents_per_query = 1;  ///< in [1, 100]
};

/// Prompt injection: an instruction to answer the query with the wrong answer. It names the query, so that it is
/// retrieved for it.
class Pia final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Pia>> create(const PiaOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "pia"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  /// Error: also InvalidInput naming a query for which no wrong answer is known.
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool aims_at_each_query() const noexcept override { return true; }

 private:
  explicit Pia(const PiaOptions& options) : options_(options) {}
  PiaOptions options_;
};

struct PoisonOptions {
  int repeat = 10;              ///< times the text stands in the document; in [1, 100]
  int documents_per_query = 1;  ///< in [1, 100]
  bool with_query = true;       ///< the query stands before the text, so that it is retrieved for it
};

/// Text that supports the wrong answer: the target's own where the data has some, else written by the language model
/// (greedily; further documents of a query are sampled under the seed). Where the model does not name the answer it was
/// to support, a sentence that does is put at the end, and the record says so.
class Poison final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<Poison>> create(const PoisonOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "poison"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  /// Error: also InvalidInput naming a query for which no wrong answer is known; Unsupported where a text must be
  /// written and there is no model; what the model says.
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool aims_at_each_query() const noexcept override { return true; }

 private:
  explicit Poison(const PoisonOptions& options) : options_(options) {}
  PoisonOptions options_;
};

}  // namespace casemate
