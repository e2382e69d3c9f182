// src/defend/mask_similarity.h
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "casemate/defend/ragmask.h"

namespace casemate {

/// How near a query is to a passage with each segment perturbed.
struct SegmentSimilarities {
  bool failed = false;          ///< the encoder could not embed one of them
  std::optional<double> whole;  ///< to the passage as it is, where that came along
  std::vector<double> perturbed;
  std::vector<char> exact;  ///< 0: predicted
};

/// In double precision, in order: the same for the same embeddings wherever they come from.
[[nodiscard]] inline double inner_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// The largest drop that counts as harmless for a passage of this similarity.
[[nodiscard]] inline double threshold_of(const RagMaskOptions& options, double similarity) {
  return options.delta_relative > 0 ? options.delta_relative * std::abs(similarity) : options.delta;
}

/// `rows` is [segments, d]; nothing where embedding failed.
[[nodiscard]] inline SegmentSimilarities similarities_of(const std::optional<std::vector<float>>& rows,
                                                         std::span<const float> query) {
  SegmentSimilarities out;
  out.failed = !rows.has_value();
  for (std::size_t at = 0; rows && at < rows->size(); at += query.size()) {
    out.perturbed.push_back(inner_product(query, std::span(*rows).subspan(at, query.size())));
    out.exact.push_back(1);
  }
  return out;
}

}  // namespace casemate
