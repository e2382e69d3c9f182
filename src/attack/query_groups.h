// src/attack/query_groups.h
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "casemate/encoder/encoder.h"

namespace casemate {

/// Queries that one document aims at.
struct QueryGroup {
  std::vector<std::size_t> members;  ///< rows of the embeddings, ascending
  std::size_t nearest = 0;           ///< the member nearest to the centre
  std::vector<float> centre;         ///< [d] mean of the members' embeddings
};

/// k-means over the rows, started by k-means++ under the seed, at most 50 rounds; ties go to the first. Fewer groups
/// where rows are equal or there are fewer than `clusters`. 0 clusters: every row by itself. Groups are in order of
/// their first member.
[[nodiscard]] std::vector<QueryGroup> group_queries(const Embeddings& queries, std::size_t clusters,
                                                    std::uint64_t seed);

}  // namespace casemate
