// eval/planted_answers.h
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/status.h"
#include "casemate/generate/vanilla.h"

namespace casemate {

/// What an attack planted, read back from its record (attacks/*.jsonl).
struct PlantedRecord {
  std::map<std::string, PromptPassage, std::less<>> passages;  ///< by id
  /// What documents want to be answered, by the query they were made for, and by the document they were made from where
  /// they were made for none.
  std::map<std::string, std::vector<std::string>, std::less<>> wanted;

  /// Of one query; empty where nothing is wanted.
  [[nodiscard]] std::vector<std::string> wanted_of(const AttackTarget& query) const;
};

/// Adds one record. Returns what is wrong with it; empty where nothing is.
[[nodiscard]] std::string add_planted_record(const nlohmann::json& record, PlantedRecord& out);

/// An attack without documents has no file, which is no error. Where a document does not say what it wants, its changed
/// piece is it (a swapped answer). Error: InvalidInput with path and line.
[[nodiscard]] Result<PlantedRecord> read_planted_record(const std::string& path);

/// Whether an answer holds one of `wanted`. Those that stand in the question or in a right answer say nothing; unset
/// where none is left.
[[nodiscard]] std::optional<bool> holds_wanted(const AttackTarget& query, const std::vector<std::string>& wanted,
                                               std::string_view answer);

}  // namespace casemate
