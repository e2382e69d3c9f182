// The rollout as the paper writes it: full matrices, double precision.
#pragma once

#include <cstddef>
#include <vector>

namespace casemate::test {

using Matrix = std::vector<std::vector<double>>;

inline Matrix full_rollout(const std::vector<Matrix>& attention) {
  const std::size_t n = attention[0].size();
  Matrix product(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) product[i][i] = 1;
  for (const Matrix& layer : attention) {  // product = A^_l product, so that the last layer ends leftmost
    Matrix hat = layer;
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += hat[j][i] = (hat[j][i] + (i == j ? 1.0 : 0.0)) / 2;
      for (double& value : hat[j]) value /= sum;
    }
    Matrix next(n, std::vector<double>(n, 0.0));
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < n; ++i) next[j][i] += hat[j][k] * product[k][i];
      }
    }
    product = std::move(next);
  }
  return product;
}

}  // namespace casemate::test
