// src/retrieve/dense_kernels.h
#pragma once

#include <cstddef>

namespace casemate::kernels {

/// Inner products of `query` [d] with `count` rows of `rows` [count, d] into `out` [count].
///
/// This is the canonical score: 32 partial sums, sum l over the elements i = l (mod 32) by fused multiply-add in order
/// of i, added up by halves (l + 16, then + 8, ...). The order does not depend on instruction set (with FMA), block or
/// batch, so a row has one score wherever it is computed.
void row_scores(const float* query, const float* rows, std::size_t count, std::size_t d, float* out);

/// Queries that one batch tile holds: a multiple of the vector width.
[[nodiscard]] std::size_t batch_tile_queries();
/// Rows that one batch tile holds.
[[nodiscard]] std::size_t batch_tile_rows();

/// Fast approximate scores of batch_tile_queries() queries with batch_tile_rows() rows.
///
/// `queries_t` is [d, batch_tile_queries()]. out[r * batch_tile_queries() + q] differs from the canonical score by at
/// most 2 * gamma_d * ||q|| * ||row||, gamma_d = d u / (1 - d u), u = 2^-24 (both are sums of d products in some
/// order). Returns true unless every score is below `floors[q]` of its query, so that most tiles need no second look.
[[nodiscard]] bool batch_tile(const float* queries_t, const float* rows, std::size_t d, const float* floors,
                              float* out);

/// Largest sum of squares over `count` rows, in double precision.
[[nodiscard]] double largest_square_norm(const float* rows, std::size_t count, std::size_t d);

}  // namespace casemate::kernels
