// casemate/certify/benign_cases.h
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// What the attacker of a certificate over a data set does to the k passages of a question.
enum class PassageThreat : std::uint8_t {
  kInjection,     ///< puts k' passages in at any ranks; the last k' clean ones fall out
  kModification,  ///< replaces any k' passages, and may move the replacements to any ranks
};

/// "injection", "modification".
[[nodiscard]] std::string_view threat_name(PassageThreat threat) noexcept;

/// Groups without a malicious passage, each a list of ranks (from 0) of the clean retrieval. The other
/// `corrupted_groups` answer whatever the attacker likes.
struct BenignCase {
  std::vector<std::vector<std::uint32_t>> groups;
  std::int64_t corrupted_groups = 0;
  friend bool operator==(const BenignCase&, const BenignCase&) = default;
};

/// ceil(passages / group_size).
[[nodiscard]] std::int64_t group_count(std::int64_t passages, std::int64_t group_size) noexcept;

/// The distinct cases that `malicious` (k') passages among `passages` (k) can bring about in groups of `group_size`
/// consecutive passages, in order of their groups. A certificate holds where it holds in each of them; fewer malicious
/// passages are covered, since an attacker may leave a passage as it was. Injection supposes a retriever in which
/// added passages never reorder clean ones. Error: InvalidArgument for k or group_size below 1, or k' outside [0, k];
/// Limit for more than 2^20 placements; Cancelled.
[[nodiscard]] Result<std::vector<BenignCase>> benign_cases(std::int64_t passages, std::int64_t group_size,
                                                           std::int64_t malicious, PassageThreat threat,
                                                           const std::stop_token& stop = {});

}  // namespace casemate
