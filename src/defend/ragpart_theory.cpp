#include "casemate/defend/ragpart_theory.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace casemate {
namespace {

Error out_of_range(std::string_view name, int value, int low, int high) {
  return Error{ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) + ", it must be in " +
                                                std::to_string(low) + " to " + std::to_string(high)};
}

/// C(n, k) for n in [0, 64]: every intermediate value is at most 64 C(64, 32) < 2^67, hence the wide type.
std::uint64_t choose(int n, int k) {
  if (k < 0 || k > n) return 0;
  unsigned __int128 value = 1;
  for (int i = 1; i <= std::min(k, n - k); ++i) {
    value = value * static_cast<unsigned>(n - i + 1) / static_cast<unsigned>(i);
  }
  return static_cast<std::uint64_t>(value);
}

/// x < C / (n_a + 1), without dividing.
bool outvoted(std::uint64_t poisoned, int adversaries, std::uint64_t combinations) {
  return static_cast<unsigned __int128>(poisoned) * (static_cast<unsigned>(adversaries) + 1U) < combinations;
}

Status check_shape(int fragments, int combination) {
  if (fragments < 1 || fragments > kMaxTheoryFragments)
    return out_of_range("the number of fragments N", fragments, 1, kMaxTheoryFragments);
  if (combination < 1 || combination > fragments)
    return out_of_range("the combination size k", combination, 1, fragments);
  return {};
}

constexpr int kMaxAdversaries = 1'000'000'000;

constexpr std::array<std::string_view, 5> kAssumptions = {
    "a combination with at most one poisoned fragment does not bring a planted passage into a list (for the naive "
    "baseline: a combination without any)",
    "without planted passages every list holds the same top p passages, up to their order",
    "at most one planted passage is in each list",
    "each of the n_a planted passages has at most n_p poisoned fragments, and at least p clean passages exist",
    "the condition is sufficient, not necessary, and says nothing of a passage that is near the query as a whole"};

}  // namespace

Result<std::uint64_t> binomial(int n, int k) {
  if (n < 0 || n > kMaxTheoryFragments) return out_of_range("n", n, 0, kMaxTheoryFragments);
  return choose(n, k);
}

Result<RagPartCondition> ragpart_condition(int fragments, int combination, int poisoned_fragments, int adversaries) {
  if (const Status shape = check_shape(fragments, combination); !shape) return shape.error();
  if (poisoned_fragments < 0 || poisoned_fragments > fragments)
    return out_of_range("the number of poisoned fragments n_p", poisoned_fragments, 0, fragments);
  if (adversaries < 1 || adversaries > kMaxAdversaries)
    return out_of_range("the number of planted passages n_a", adversaries, 1, kMaxAdversaries);
  RagPartCondition out;
  out.fragments = fragments;
  out.combination = combination;
  out.poisoned_fragments = poisoned_fragments;
  out.adversaries = adversaries;
  out.combinations = choose(fragments, combination);
  const int clean = fragments - poisoned_fragments;
  out.x_naive = out.combinations - choose(clean, combination);
  // Mixes with exactly one poisoned fragment are some of those with at least one, so neither number wraps.
  out.x_ragpart = out.x_naive - static_cast<std::uint64_t>(poisoned_fragments) * choose(clean, combination - 1);
  out.robust_naive = outvoted(out.x_naive, adversaries, out.combinations);
  out.robust_ragpart = outvoted(out.x_ragpart, adversaries, out.combinations);
  return out;
}

Result<RagPartCost> ragpart_cost(int fragments, int combination, double passages, double flops_a_fragment,
                                 double dimension) {
  if (const Status shape = check_shape(fragments, combination); !shape) return shape.error();
  for (const double value : {passages, flops_a_fragment, dimension}) {
    if (!std::isfinite(value) || value <= 0)
      return Error{ErrorCode::kInvalidArgument, "passages, FLOPs a fragment and dimension must be positive and finite"};
  }
  const auto mixes = static_cast<double>(choose(fragments, combination));
  RagPartCost cost;
  cost.naive_embedding = passages * mixes * combination * flops_a_fragment;
  cost.ragpart_embedding = passages * fragments * flops_a_fragment;
  cost.ragpart_averaging = passages * mixes * combination * dimension;
  cost.query_databases = 2 * dimension * passages * mixes;
  cost.query_fused = 2 * dimension * passages * fragments;
  return cost;
}

std::span<const std::string_view> ragpart_theory_assumptions() noexcept { return kAssumptions; }

}  // namespace casemate
