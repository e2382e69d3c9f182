// tests/certify/attack.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "casemate/certify/benign_cases.h"
#include "certify/samples.h"

namespace casemate::test {

/// The groups that `chosen` of the passages (a bit set) stand in, for a live answer.
inline std::set<std::size_t> touched_groups(unsigned chosen, int passages, int group_size) {
  std::set<std::size_t> out;
  for (int i = 0; i < passages; ++i) {
    if (((chosen >> i) & 1U) != 0) out.insert(static_cast<std::size_t>(i / group_size));
  }
  return out;
}

/// Calls with the groups that an attacker with exactly `k_prime` passages touches, each distinct set once.
inline void every_touch(int passages, int group_size, int k_prime,
                        const std::function<void(const std::set<std::size_t>&)>& visit) {
  std::set<std::set<std::size_t>> seen;
  for (unsigned chosen = 0; chosen < (1U << passages); ++chosen) {
    if (__builtin_popcount(chosen) != k_prime) continue;
    const auto touched = touched_groups(chosen, passages, group_size);
    if (seen.insert(touched).second) visit(touched);
  }
}

/// A group as the model sees it under attack on a data set: clean ranks in order, -1 for a malicious passage.
using Group = std::vector<int>;

/// Calls with the groups for every way to put at most `malicious` passages among the `passages` clean ones.
inline void every_placement(int passages, int group_size, int malicious, PassageThreat threat,
                            const std::function<void(const std::vector<Group>&)>& visit) {
  std::set<std::vector<Group>> seen;
  const unsigned all = 1U << passages;
  for (unsigned removed = 0; removed < all; ++removed) {
    const int count = __builtin_popcount(removed);
    if (count > malicious) continue;
    const unsigned last = ((1U << count) - 1U) << (passages - count);
    if (threat == PassageThreat::kInjection && removed != last) continue;
    for (unsigned placed = 0; placed < all; ++placed) {
      if (__builtin_popcount(placed) != count) continue;
      std::vector<Group> groups;
      int next = 0;
      for (int rank = 0; rank < passages; ++rank) {
        if (rank % group_size == 0) groups.emplace_back();
        if (((placed >> rank) & 1U) != 0) {
          groups.back().push_back(-1);
          continue;
        }
        while (((removed >> next) & 1U) != 0) ++next;
        groups.back().push_back(next++);
      }
      if (seen.insert(groups).second) visit(groups);
    }
  }
}

inline bool is_malicious(const Group& group) {
  for (const int passage : group) {
    if (passage < 0) return true;
  }
  return false;
}

/// A made-up model: each group's answer is drawn once and then stays.
template <typename Answer>
class Remembered {
 public:
  explicit Remembered(std::function<Answer()> draw) : draw_(std::move(draw)) {}
  const Answer& of(const Group& group) {
    auto found = answers_.find(group);
    if (found == answers_.end()) found = answers_.emplace(group, draw_()).first;
    return found->second;
  }
  const Answer& of(const std::vector<std::uint32_t>& group) { return of(Group(group.begin(), group.end())); }

 private:
  std::function<Answer()> draw_;
  std::map<Group, Answer> answers_;
};

}  // namespace casemate::test
