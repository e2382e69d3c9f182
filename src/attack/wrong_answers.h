// src/attack/wrong_answers.h
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/random.h"

namespace casemate {

/// Answers of targets to draw wrong ones for others from, by kind (year, number, name, other) and number of words.
class WrongAnswers {
 public:
  explicit WrongAnswers(std::span<const AttackTarget> targets);

  /// An answer that is wrong for `target` and stands nowhere in `text`: like `right` in kind and number of words where
  /// there is one, else in kind, else any.
  [[nodiscard]] std::optional<std::string> wrong_for(const AttackTarget& target, const std::string& right,
                                                     std::string_view text, RandomStream& random) const;

 private:
  enum class Kind : std::uint8_t { kYear, kNumber, kName, kOther };
  [[nodiscard]] static Kind kind_of(std::string_view answer);

  std::span<const AttackTarget> targets_;
  std::map<std::pair<Kind, std::size_t>, std::vector<std::size_t>> pools_;  ///< words 0: any number
  std::vector<std::size_t> all_;
};

}  // namespace casemate
