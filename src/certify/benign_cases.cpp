#include "casemate/certify/benign_cases.h"

#include <algorithm>
#include <set>
#include <utility>

#include "certify/group_choices.h"
#include "certify/stopped.h"

namespace casemate {
namespace {

constexpr std::uint64_t kMaxPlacements = std::uint64_t{1} << 20U;
constexpr std::int64_t kMaxPassages = 64;

using Groups = std::vector<std::vector<std::uint32_t>>;

/// The groups without a malicious passage, where these stand at the ranks in `malicious` and `clean` fills the others.
Groups benign_groups(const std::vector<std::uint32_t>& clean, std::uint64_t malicious, int passages, int group_size) {
  Groups out;
  std::size_t next = 0;
  for (int begin = 0; begin < passages; begin += group_size) {
    std::vector<std::uint32_t> group;
    bool benign = true;
    for (int rank = begin; rank < std::min(begin + group_size, passages); ++rank) {
      if (((malicious >> rank) & 1U) != 0) {
        benign = false;
      } else {
        group.push_back(clean[next++]);
      }
    }
    if (benign) out.push_back(std::move(group));
  }
  return out;
}

}  // namespace

std::string_view threat_name(PassageThreat threat) noexcept {
  return threat == PassageThreat::kInjection ? "injection" : "modification";
}

std::int64_t group_count(std::int64_t passages, std::int64_t group_size) noexcept {
  return (passages + group_size - 1) / group_size;
}

Result<std::vector<BenignCase>> benign_cases(std::int64_t passages, std::int64_t group_size, std::int64_t malicious,
                                             PassageThreat threat, const std::stop_token& stop) {
  if (passages < 1 || group_size < 1 || malicious < 0 || malicious > passages) {
    return Error{ErrorCode::kInvalidArgument,
                 "expected at least one passage, groups of at least one, and 0 to k malicious passages"};
  }
  const auto too_many = [] {
    return Error{ErrorCode::kLimit, "more than 2^20 placements of malicious passages, or more than 64 passages"};
  };
  if (passages > kMaxPassages) return too_many();
  const int k = static_cast<int>(passages);
  const int bad = static_cast<int>(malicious);
  const int size = static_cast<int>(std::min(group_size, passages));
  const std::uint64_t placements = certify::GroupChoices::count(k, bad, kMaxPlacements);
  // In groups of one, every placement leaves each clean passage by itself.
  const std::uint64_t placed = size == 1 ? 1 : placements;
  const std::uint64_t removals = threat == PassageThreat::kModification ? placements : 1;
  if (placements > kMaxPlacements || placed * removals > kMaxPlacements) return too_many();

  std::set<Groups> distinct;
  const std::uint64_t last = bad == 0 ? 0 : ((~std::uint64_t{0}) >> (64 - bad)) << (k - bad);
  for (certify::GroupChoices removed(k, bad); removed.valid(); removed.next()) {
    const std::uint64_t gone = threat == PassageThreat::kInjection ? last : removed.mask();
    std::vector<std::uint32_t> clean;
    for (int rank = 0; rank < k; ++rank) {
      if (((gone >> rank) & 1U) == 0) clean.push_back(static_cast<std::uint32_t>(rank));
    }
    for (certify::GroupChoices place(k, bad); place.valid(); place.next()) {
      if (stop.stop_requested()) return certify::stopped();
      distinct.insert(benign_groups(clean, place.mask(), k, size));
      if (size == 1) break;
    }
    if (threat == PassageThreat::kInjection) break;
  }
  std::vector<BenignCase> out;
  for (const Groups& groups : distinct) {
    out.push_back({groups, group_count(k, size) - static_cast<std::int64_t>(groups.size())});
  }
  return out;
}

}  // namespace casemate
