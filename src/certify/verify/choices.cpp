#include "certify/verify/choices.h"

#include <numeric>
#include <vector>

namespace casemate::verify {

std::uint64_t count_choices(std::size_t n, std::size_t r) {
  if (r > n) return 0;
  std::uint64_t count = 1;
  for (std::size_t i = 1; i <= r; ++i) {
    count = count * (n - r + i) / i;  // exact: a product of i neighbouring numbers divides by i!
    if (count > kMaxWork) return kMaxWork + 1;
  }
  return count;
}

bool every_choice(std::size_t n, std::size_t r, std::uint64_t cost, Work& work,
                  const std::function<bool(std::span<const std::size_t>)>& visit) {
  if (r > n) return true;
  work.spend(count_choices(n, r), cost + 1);
  std::vector<std::size_t> choice(r);
  std::iota(choice.begin(), choice.end(), std::size_t{0});
  while (true) {
    if (!visit(choice)) return false;
    std::size_t at = r;
    while (at > 0 && choice[at - 1] == n - r + at - 1) --at;
    if (at == 0) return true;
    ++choice[at - 1];
    for (; at < r; ++at) choice[at] = choice[at - 1] + 1;
  }
}

}  // namespace casemate::verify
