// One line of an answer experiment's log, written and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A certificate over the data set, of one budget.
struct LoggedCertificate {
  std::string budget;
  bool certified = false;
  double tau = 0;
  std::string reason;
};

/// What one question gave under one method and attack.
struct AnswerOutcome {
  std::string query;
  std::string answer;
  bool right = false;
  bool valid = false;  ///< not empty and not cut short
  bool declined = false;
  std::optional<bool> attack_success;  ///< unset where it cannot be judged
  std::uint64_t generated_tokens = 0;
  std::vector<LoggedCertificate> certificates;
  std::optional<std::int64_t> live_k_prime;
  std::string live_limited_by;
  std::string error;            ///< why it failed; empty where it did not
  std::optional<double> score;  ///< long text: share of the facts
  /// The score, or 1 where it is right.
  [[nodiscard]] double worth() const { return score.value_or(right ? 1 : 0); }
};

[[nodiscard]] std::string log_line(const AnswerOutcome& outcome);  ///< without its end
/// Error: InvalidInput with path and line; NotFound.
[[nodiscard]] Result<std::vector<AnswerOutcome>> read_answer_log(const std::string& path);
/// What a question took: differs from run to run, with the machine and with what was kept of earlier questions.
struct AnswerCost {
  double seconds = 0;
  double decoded_tokens = 0;  ///< went through the network
  double reused_tokens = 0;
};
[[nodiscard]] std::string cost_line(const std::string& query, const AnswerCost& cost);  ///< without its end
/// Broken lines are left out: costs prove nothing.
[[nodiscard]] std::vector<AnswerCost> read_costs(const std::string& path);

}  // namespace casemate
