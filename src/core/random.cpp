#include "casemate/core/random.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "casemate/core/hash.h"

namespace casemate {

void philox4x32_10(const std::uint32_t counter[4], const std::uint32_t key[2], std::uint32_t out[4]) noexcept {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53U;
  constexpr std::uint64_t kMultiply1 = 0xCD9E8D57U;
  std::uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]};
  std::uint32_t k[2] = {key[0], key[1]};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiply0 * c[0];
    const std::uint64_t p1 = kMultiply1 * c[2];
    const std::uint32_t next[4] = {static_cast<std::uint32_t>(p1 >> 32U) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
                                   static_cast<std::uint32_t>(p0 >> 32U) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    std::memcpy(c, next, sizeof c);
    k[0] += 0x9E3779B9U;
    k[1] += 0xBB67AE85U;
  }
  std::memcpy(out, c, sizeof c);
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}, stream_{} {
  const Digest digest = blake2b(name);
  std::memcpy(stream_, digest.data(), sizeof stream_);
}

std::uint32_t RandomStream::next_u32() noexcept {
  if (left_ == 0) {
    const std::uint32_t counter[4] = {static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32U),
                                      stream_[0], stream_[1]};
    philox4x32_10(counter, key_, buffer_);
    ++block_;
    left_ = 4;
  }
  return buffer_[4 - left_--];
}

std::uint64_t RandomStream::next_u64() noexcept {
  const std::uint64_t low = next_u32();
  return low | (static_cast<std::uint64_t>(next_u32()) << 32U);
}

std::uint64_t RandomStream::below(std::uint64_t bound) noexcept {
  // Draws above the largest multiple of bound are thrown away; else small values would be likelier.
  const std::uint64_t limit = (0 - bound) % bound;
  while (true) {
    const std::uint64_t draw = next_u64();
    if (draw >= limit) return draw % bound;
  }
}

double RandomStream::uniform() noexcept { return static_cast<double>(next_u64() >> 11U) * 0x1p-53; }

double RandomStream::normal() noexcept {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace casemate
