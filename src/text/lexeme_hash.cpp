#include "text/lexeme_hash.h"

#include <bit>
#include <cstring>

namespace casemate {
namespace {

std::uint64_t finalised(std::uint64_t h) {
  h = (h ^ (h >> 33U)) * 0xFF51AFD7ED558CCDU;
  h = (h ^ (h >> 33U)) * 0xC4CEB9FE1A85EC53U;
  return h ^ (h >> 33U);
}

}  // namespace

std::uint64_t murmur_hash_64a(std::string_view text) noexcept {
  constexpr std::uint64_t kMultiplier = 0xC6A4A7935BD1E995U;
  constexpr std::uint64_t kSeed = 1;
  std::uint64_t h = kSeed ^ (text.size() * kMultiplier);
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t k = 0;
    std::memcpy(&k, text.data(), 8);
    k *= kMultiplier;
    k = (k ^ (k >> 47U)) * kMultiplier;
    h = (h ^ k) * kMultiplier;
  }
  if (!text.empty()) {
    std::uint64_t k = 0;
    std::memcpy(&k, text.data(), text.size());
    h = (h ^ k) * kMultiplier;
  }
  h = (h ^ (h >> 47U)) * kMultiplier;
  return h ^ (h >> 47U);
}

std::array<std::uint32_t, 4> murmur_hash_3(std::uint64_t id, std::uint32_t seed) noexcept {
  constexpr std::uint64_t kLength = 8;
  std::uint64_t h1 = (std::rotl(id * 0x87C37B91114253D5U, 31) * 0x4CF5AD432745937FU) ^ seed ^ kLength;
  std::uint64_t h2 = seed ^ kLength;
  h1 += h2;
  h2 += h1;
  h1 = finalised(h1);
  h2 = finalised(h2);
  h1 += h2;
  h2 += h1;
  return {static_cast<std::uint32_t>(h1), static_cast<std::uint32_t>(h1 >> 32U), static_cast<std::uint32_t>(h2),
          static_cast<std::uint32_t>(h2 >> 32U)};
}

}  // namespace casemate
