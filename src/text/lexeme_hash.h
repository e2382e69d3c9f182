#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace casemate {

/// MurmurHash64A (Austin Appleby, public domain) with seed 1: spaCy's id of a string.
[[nodiscard]] std::uint64_t murmur_hash_64a(std::string_view text) noexcept;

/// MurmurHash3 x64_128 (the same author) of the 8 bytes of `id`, as four 32-bit words: the rows of a hash embedding.
[[nodiscard]] std::array<std::uint32_t, 4> murmur_hash_3(std::uint64_t id, std::uint32_t seed) noexcept;

}  // namespace casemate
