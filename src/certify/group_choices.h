// certify/group_choices.h
#pragma once

#include <cstdint>
#include <vector>

namespace casemate::certify {

/// Choices of r of n things, n at most 64, as bit sets in ascending order.
class GroupChoices {
 public:
  /// How many there are, at most `most` + 1.
  [[nodiscard]] static std::uint64_t count(int n, int r, std::uint64_t most);

  GroupChoices(int n, int r);
  /// False after the last one. `mask()` is valid while true.
  [[nodiscard]] bool valid() const noexcept { return valid_; }
  [[nodiscard]] std::uint64_t mask() const noexcept { return mask_; }
  void next();

 private:
  int n_;
  std::uint64_t mask_;
  bool valid_;
};

}  // namespace casemate::certify
