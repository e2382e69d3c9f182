// casemate/attack/query_as_poison.h
#pragma once

#include <memory>

#include "casemate/attack/attack.h"

namespace casemate {

enum class PoisonPlace : std::uint8_t { kStart, kMiddle, kEnd };

struct QueryAsPoisonOptions {
  PoisonPlace place = PoisonPlace::kStart;
  int repeat = 1;               ///< times the query stands there; in [1, 100]
  int documents_per_query = 3;  ///< irrelevant documents that are altered; in [1, 100]
};

/// Puts the query itself into irrelevant documents, so that they are retrieved for it (RAGPart's paper, section 5).
/// The documents are drawn from the corpus without the one that answers the query, different ones for one query; the
/// planted document is an altered copy, and its source stays in the corpus. The middle is a blank between two words.
class QueryAsPoison final : public Attack {
 public:
  /// Error: InvalidOption.
  [[nodiscard]] static Result<std::unique_ptr<QueryAsPoison>> create(const QueryAsPoisonOptions& options);

  [[nodiscard]] std::string_view name() const noexcept override { return "query-as-poison"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> parameters() const override;
  [[nodiscard]] Result<CraftedAttack> craft(const AttackInput& input, std::stop_token stop) const override;
  [[nodiscard]] bool aims_at_each_query() const noexcept override { return true; }

 private:
  explicit QueryAsPoison(const QueryAsPoisonOptions& options) : options_(options) {}
  QueryAsPoisonOptions options_;
};

}  // namespace casemate
