// casemate/core/random.h
#pragma once

#include <cstdint>
#include <string_view>

namespace casemate {

/// A counter-based random stream (Philox 4x32-10, Salmon et al. 2011): the i-th draw is a pure function of
/// (seed, stream name, i), so results do not depend on threads or on what else draws.
class RandomStream {
 public:
  /// `name` separates streams under one seed, for instance "attack/hotflip" or "bootstrap".
  RandomStream(std::uint64_t seed, std::string_view name);

  [[nodiscard]] std::uint32_t next_u32() noexcept;
  [[nodiscard]] std::uint64_t next_u64() noexcept;
  /// Uniform in [0, bound), without bias; `bound` >= 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept;
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform() noexcept;
  /// Standard normal (Box-Muller, both values used).
  [[nodiscard]] double normal() noexcept;

 private:
  std::uint32_t key_[2];
  std::uint32_t stream_[2];
  std::uint64_t block_ = 0;
  std::uint32_t buffer_[4] = {};
  int left_ = 0;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// The raw bijection, for tests against the published vectors.
void philox4x32_10(const std::uint32_t counter[4], const std::uint32_t key[2], std::uint32_t out[4]) noexcept;

}  // namespace casemate
