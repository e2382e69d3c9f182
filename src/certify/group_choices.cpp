#include "certify/group_choices.h"

namespace casemate::certify {

std::uint64_t GroupChoices::count(int n, int r, std::uint64_t most) {
  if (r < 0 || r > n) return 0;
  std::uint64_t row = 1;
  for (int i = 1; i <= r; ++i) {
    row = row * static_cast<std::uint64_t>(n - r + i) / static_cast<std::uint64_t>(i);
    if (row > most) return most + 1;
  }
  return row;
}

GroupChoices::GroupChoices(int n, int r)
    : n_(n), mask_(r >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << r) - 1), valid_(r >= 0 && r <= n && n <= 64) {}

void GroupChoices::next() {
  if (mask_ == 0) {
    valid_ = false;
    return;
  }
  // Gosper: the next larger number with as many bits.
  const std::uint64_t lowest = mask_ & (~mask_ + 1);
  const std::uint64_t carried = mask_ + lowest;
  if (carried == 0) {
    valid_ = false;
    return;
  }
  mask_ = carried | (((mask_ ^ carried) / lowest) >> 2U);
  if (n_ < 64 && (mask_ >> n_) != 0) valid_ = false;
}

}  // namespace casemate::certify
