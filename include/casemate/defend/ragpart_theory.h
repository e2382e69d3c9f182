// casemate/defend/ragpart_theory.h
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// Most fragments that the theory counts with: C(64, 32) still fits into 64 bits.
inline constexpr int kMaxTheoryFragments = 64;

/// RAGPart's sufficient conditions of robustness (the paper's section 6) for one choice of N, k, n_p and n_a, in exact
/// integers. "Robust" is a statement under the assumptions of `ragpart_theory_assumptions`, and no more.
struct RagPartCondition {
  int fragments = 0;               ///< N
  int combination = 0;             ///< k, in [1, N]
  int poisoned_fragments = 0;      ///< n_p, in [0, N]: poisoned fragments of one document
  int adversaries = 0;             ///< n_a: documents of the attacker
  std::uint64_t combinations = 0;  ///< C(N, k)
  std::uint64_t x_naive = 0;       ///< mixes with at least one poisoned fragment: C(N, k) - C(N - n_p, k)
  std::uint64_t x_ragpart = 0;     ///< mixes with at least two: x_naive - n_p C(N - n_p, k - 1)
  bool robust_naive = false;       ///< x_naive (n_a + 1) < C(N, k), strictly
  bool robust_ragpart = false;     ///< x_ragpart (n_a + 1) < C(N, k), strictly
};

/// C(n, k), 0 outside 0 <= k <= n. Error: InvalidArgument for n outside [0, 64].
[[nodiscard]] Result<std::uint64_t> binomial(int n, int k);

/// Error: InvalidArgument, naming the value and its range: N in [1, 64], k in [1, N], n_p in [0, N], n_a in [1, 10^9].
[[nodiscard]] Result<RagPartCondition> ragpart_condition(int fragments, int combination, int poisoned_fragments,
                                                         int adversaries);

/// The paper's section 6.2 for D passages, R FLOPs to embed one fragment and embeddings of n_e values.
struct RagPartCost {
  double naive_embedding = 0;    ///< D C(N, k) k R: each mix is embedded as text
  double ragpart_embedding = 0;  ///< D N R: each fragment is embedded once
  double ragpart_averaging = 0;  ///< D C(N, k) k n_e: k - 1 additions and a division a value and mix
  double query_databases = 0;    ///< 2 n_e D C(N, k): scanning one database a mix, as the paper does
  double query_fused = 0;        ///< 2 n_e D N: scanning the fragments once, as Casemate does
};

/// Error: as `ragpart_condition` for N and k; InvalidArgument for numbers that are not positive and finite.
[[nodiscard]] Result<RagPartCost> ragpart_cost(int fragments, int combination, double passages, double flops_a_fragment,
                                               double dimension);

/// What the conditions assume, one sentence each.
[[nodiscard]] std::span<const std::string_view> ragpart_theory_assumptions() noexcept;

}  // namespace casemate
