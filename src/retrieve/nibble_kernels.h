// src/retrieve/nibble_kernels.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace casemate::kernels {

/// Chunks of a group: their values lie side by side, one lane each.
inline constexpr std::size_t kGroupChunks = 16;
/// Dimensions that one 64-byte line of a nibble plane holds for a group.
inline constexpr std::size_t kOctet = 8;
/// Bytes of such a line: chunk c, value v in 0..3 at byte 4 c + v; dimension v in the low, v + 4 in the high nibble.
inline constexpr std::size_t kLineBytes = 64;
/// Largest padded dimension: 15 * 127 * d, and sixteen times that, must fit into 32 bits.
inline constexpr std::size_t kMaxDimension = 65536;

/// One way of multiplying nibbles (0..15) with query codes (-127..127) exactly.
///
/// sums[(q * rows + r) * 16 + c] = sum over the dimensions of plane value (row r, chunk c) times codes[q]. `plane` is
/// [rows, octets, 64], 64-byte aligned, `codes` [queries, octets * 8]. Every kernel gives the same integers.
struct NibbleKernel {
  const char* name;
  bool (*runs_here)();
  void (*dots)(const std::uint8_t* plane, std::size_t rows, std::size_t octets, const std::int8_t* codes,
               std::size_t queries, std::int32_t* sums);
};

/// All kernels of this build, the fastest first; the last one runs anywhere.
[[nodiscard]] std::span<const NibbleKernel> nibble_kernels() noexcept;
/// The fastest that this processor runs.
[[nodiscard]] const NibbleKernel& nibble_kernel() noexcept;

}  // namespace casemate::kernels
