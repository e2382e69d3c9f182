#include "retrieve/nibble_kernels.h"

#include <array>
#include <cstring>

#include "core/kernel_choice.h"

// Instruction sets are chosen function by function, since Highway 1.0.3 has no integer dot product: each function names
// its own target, and `nibble_kernel` picks one that this processor runs.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define CASEMATE_NIBBLE_X86 1
#include <immintrin.h>
#endif

namespace casemate::kernels {
namespace {

void dots_portable(const std::uint8_t* plane, std::size_t rows, std::size_t octets, const std::int8_t* codes,
                   std::size_t queries, std::int32_t* sums) {
  for (std::size_t q = 0; q < queries; ++q) {
    for (std::size_t r = 0; r < rows; ++r) {
      std::int32_t* out = sums + (q * rows + r) * kGroupChunks;
      std::array<std::int32_t, kGroupChunks> sum{};
      for (std::size_t o = 0; o < octets; ++o) {
        const std::uint8_t* line = plane + (r * octets + o) * kLineBytes;
        const std::int8_t* code = codes + (q * octets + o) * kOctet;
        for (std::size_t c = 0; c < kGroupChunks; ++c) {
          for (std::size_t v = 0; v < 4; ++v) {
            const int byte = line[4 * c + v];
            sum[c] += (byte & 15) * code[v] + (byte >> 4) * code[v + 4];
          }
        }
      }
      std::memcpy(out, sum.data(), sizeof sum);
    }
  }
}

#ifdef CASEMATE_NIBBLE_X86

std::int32_t four_codes(const std::int8_t* codes) {
  std::int32_t value = 0;
  std::memcpy(&value, codes, sizeof value);
  return value;
}

/// maddubs adds two products into 16 bits: at most 2 * 15 * 127 = 3810, so eight of them cannot saturate.
__attribute__((target("avx2"))) void dots_avx2(const std::uint8_t* plane, std::size_t rows, std::size_t octets,
                                               const std::int8_t* codes, std::size_t queries, std::int32_t* sums) {
  constexpr std::size_t kOctetsAtOnce = 4;
  const __m256i low = _mm256_set1_epi8(15);
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::size_t q = 0; q < queries; ++q) {
    for (std::size_t r = 0; r < rows; ++r) {
      const std::uint8_t* line = plane + r * octets * kLineBytes;
      const std::int8_t* code = codes + q * octets * kOctet;
      __m256i sum0 = _mm256_setzero_si256();
      __m256i sum1 = _mm256_setzero_si256();
      for (std::size_t first = 0; first < octets; first += kOctetsAtOnce) {
        const std::size_t end = first + kOctetsAtOnce < octets ? first + kOctetsAtOnce : octets;
        __m256i part0 = _mm256_setzero_si256();
        __m256i part1 = _mm256_setzero_si256();
        for (std::size_t o = first; o < end; ++o, line += kLineBytes, code += kOctet) {
          const __m256i code_low = _mm256_set1_epi32(four_codes(code));
          const __m256i code_high = _mm256_set1_epi32(four_codes(code + 4));
          const __m256i v0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(line));
          const __m256i v1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(line + 32));
          part0 = _mm256_add_epi16(part0, _mm256_maddubs_epi16(_mm256_and_si256(v0, low), code_low));
          part1 = _mm256_add_epi16(part1, _mm256_maddubs_epi16(_mm256_and_si256(v1, low), code_low));
          const __m256i h0 = _mm256_and_si256(_mm256_srli_epi16(v0, 4), low);
          const __m256i h1 = _mm256_and_si256(_mm256_srli_epi16(v1, 4), low);
          part0 = _mm256_add_epi16(part0, _mm256_maddubs_epi16(h0, code_high));
          part1 = _mm256_add_epi16(part1, _mm256_maddubs_epi16(h1, code_high));
        }
        sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(part0, ones));
        sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(part1, ones));
      }
      std::int32_t* out = sums + (q * rows + r) * kGroupChunks;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), sum0);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8), sum1);
    }
  }
}

#define CASEMATE_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

/// kQueries queries over one row; each line is unpacked once.
template <std::size_t kQueries>
CASEMATE_VNNI inline void row_vnni(const std::uint8_t* line, std::size_t octets, std::size_t stride,
                                   const std::int8_t* codes, std::int32_t* out, std::size_t out_stride) {
  const __m512i low = _mm512_set1_epi8(15);
  // Two sums a query keep the multiplier busy where there are few queries.
  __m512i sum[kQueries][2];
  for (std::size_t q = 0; q < kQueries; ++q) sum[q][0] = sum[q][1] = _mm512_setzero_si512();
  for (std::size_t o = 0; o < octets; ++o) {
    const __m512i v = _mm512_load_si512(line + o * kLineBytes);
    const __m512i v0 = _mm512_and_si512(v, low);
    const __m512i v1 = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
    for (std::size_t q = 0; q < kQueries; ++q) {
      const std::int8_t* code = codes + q * stride + o * kOctet;
      sum[q][0] = _mm512_dpbusd_epi32(sum[q][0], v0, _mm512_set1_epi32(four_codes(code)));
      sum[q][1] = _mm512_dpbusd_epi32(sum[q][1], v1, _mm512_set1_epi32(four_codes(code + 4)));
    }
  }
  for (std::size_t q = 0; q < kQueries; ++q)
    _mm512_storeu_si512(out + q * out_stride, _mm512_add_epi32(sum[q][0], sum[q][1]));
}

CASEMATE_VNNI void dots_vnni(const std::uint8_t* plane, std::size_t rows, std::size_t octets, const std::int8_t* codes,
                             std::size_t queries, std::int32_t* sums) {
  constexpr std::size_t kTile = 8;
  const std::size_t stride = octets * kOctet;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint8_t* line = plane + r * octets * kLineBytes;
    std::size_t q = 0;
    for (; q + kTile <= queries; q += kTile)
      row_vnni<kTile>(line, octets, stride, codes + q * stride, sums + (q * rows + r) * kGroupChunks,
                      rows * kGroupChunks);
    for (; q < queries; ++q)
      row_vnni<1>(line, octets, stride, codes + q * stride, sums + (q * rows + r) * kGroupChunks, rows * kGroupChunks);
  }
}

constexpr std::array kKernels = {NibbleKernel{"avx512-vnni", has_vnni, dots_vnni},
                                 NibbleKernel{"avx2", has_avx2, dots_avx2},
                                 NibbleKernel{"portable", runs_everywhere, dots_portable}};
#else
constexpr std::array kKernels = {NibbleKernel{"portable", runs_everywhere, dots_portable}};
#endif

}  // namespace

std::span<const NibbleKernel> nibble_kernels() noexcept { return kKernels; }

const NibbleKernel& nibble_kernel() noexcept {
  static const NibbleKernel& chosen = first_that_runs(nibble_kernels());
  return chosen;
}

}  // namespace casemate::kernels
