// src/retrieve/quantised_block.h
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/retrieve/quantised_vectors.h"
#include "casemate/store/vector_snapshot.h"
#include "retrieve/aligned_array.h"
#include "retrieve/nibble_kernels.h"

namespace casemate {

/// The codes of one block. A row x is kept as mean + scale (X - 127.5) + e with X in 0..255 and the block's mean, and
/// coarsely as mean + scale (16 H - 120) + e', H = X / 16. Errors are measured in double precision with the float
/// scale.
class QuantisedBlock {
 public:
  /// Error: what `read_rows` says; Limit.
  [[nodiscard]] static Result<std::shared_ptr<const QuantisedBlock>> create(const VectorSnapshot& snapshot,
                                                                            std::size_t index,
                                                                            const QuantiseOptions& options,
                                                                            const ThreadPool& pool);

  std::string file;
  std::size_t chunks = 0;
  std::size_t rows = 0;  ///< a chunk
  std::size_t dimension = 0;
  std::size_t octets = 0;  ///< of the padded dimension
  std::size_t groups = 0;
  AlignedArray<std::uint8_t> high;   ///< [groups, rows, octets, 64]
  AlignedArray<std::uint8_t> low;    ///< [groups, rows, octets, 64]
  AlignedArray<float> scale;         ///< [groups, rows, 16]
  AlignedArray<float> coarse_error;  ///< [groups, rows, 16]: bound of |score - coarse value| for a query of norm 1
  AlignedArray<float> fine_error;    ///< [groups, rows, 16]
  AlignedArray<float> code_norm;     ///< [groups]: the largest norm of a row's quantised part
  /// [groups, rows, 16] or empty: for any rows of a chunk, the norm of their sum, also as computed in double precision
  /// from their inner products, is at least the sum of these.
  AlignedArray<float> along;
  AlignedArray<float> largest_norm;  ///< [groups] or empty: not below the norm of any row
  std::vector<float> mean;           ///< [dimension]
  double mean_norm = 0;

  [[nodiscard]] std::size_t plane_stride() const { return rows * octets * kernels::kLineBytes; }
  [[nodiscard]] std::size_t lane_stride() const { return rows * kernels::kGroupChunks; }
  [[nodiscard]] std::size_t resident_bytes() const;

 private:
  Status choose_mean(const VectorSnapshot& snapshot, std::size_t index);
  Status fill_group(const VectorSnapshot& snapshot, std::size_t index, std::size_t group);
  void fill_row(const float* row, std::size_t group, std::size_t r, std::size_t lane);
  /// Codes of one row, from byte `at` of both planes on.
  void put_codes(const std::vector<std::int32_t>& codes, std::size_t at);
  void fill_along(const float* chunk, std::size_t group, std::size_t lane);
};

}  // namespace casemate
