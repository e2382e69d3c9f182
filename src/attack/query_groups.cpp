#include "attack/query_groups.h"

#include <algorithm>
#include <limits>

#include "casemate/core/random.h"

namespace casemate {
namespace {

constexpr int kRounds = 50;

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const double difference = static_cast<double>(a[d]) - static_cast<double>(b[d]);
    sum += difference * difference;
  }
  return sum;
}

using Centres = std::vector<std::vector<float>>;

Centres first_centres(const Embeddings& queries, std::size_t clusters, std::uint64_t seed) {
  RandomStream random(seed, "attack/query-groups");
  Centres centres;
  std::vector<double> nearest(queries.rows, std::numeric_limits<double>::infinity());
  std::size_t chosen = random.below(queries.rows);
  while (true) {
    centres.emplace_back(queries.row(chosen).begin(), queries.row(chosen).end());
    if (centres.size() == clusters) return centres;
    double sum = 0;
    for (std::size_t i = 0; i < queries.rows; ++i) {
      nearest[i] = std::min(nearest[i], squared_distance(queries.row(i), centres.back()));
      sum += nearest[i];
    }
    if (sum <= 0) return centres;
    double left = random.uniform() * sum;
    for (std::size_t i = 0; i < queries.rows; ++i) {
      if (nearest[i] <= 0) continue;
      chosen = i;
      left -= nearest[i];
      if (left < 0) break;
    }
  }
}

std::vector<std::size_t> assign(const Embeddings& queries, const Centres& centres) {
  std::vector<std::size_t> out(queries.rows, 0);
  for (std::size_t i = 0; i < queries.rows; ++i) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < centres.size(); ++c) {
      const double distance = squared_distance(queries.row(i), centres[c]);
      if (distance < best) {
        best = distance;
        out[i] = c;
      }
    }
  }
  return out;
}

std::vector<float> mean_of(const Embeddings& queries, std::span<const std::size_t> members) {
  std::vector<double> sums(queries.dimension, 0);
  for (const std::size_t row : members) {
    for (std::size_t d = 0; d < sums.size(); ++d) sums[d] += static_cast<double>(queries.row(row)[d]);
  }
  std::vector<float> out;
  for (const double sum : sums) out.push_back(static_cast<float>(sum / static_cast<double>(members.size())));
  return out;
}

std::vector<std::vector<std::size_t>> members_of(const std::vector<std::size_t>& assigned, std::size_t clusters) {
  std::vector<std::vector<std::size_t>> out(clusters);
  for (std::size_t i = 0; i < assigned.size(); ++i) out[assigned[i]].push_back(i);
  return out;
}

}  // namespace

std::vector<QueryGroup> group_queries(const Embeddings& queries, std::size_t clusters, std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> groups;
  if (clusters == 0 || queries.rows == 0) {
    for (std::size_t i = 0; i < queries.rows; ++i) groups.push_back({i});
  } else {
    Centres centres = first_centres(queries, std::min(clusters, queries.rows), seed);
    std::vector<std::size_t> assigned;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::size_t> next = assign(queries, centres);
      if (next == assigned) break;
      assigned = std::move(next);
      groups = members_of(assigned, centres.size());
      for (std::size_t c = 0; c < centres.size(); ++c) {
        if (!groups[c].empty()) centres[c] = mean_of(queries, groups[c]);
      }
    }
    std::erase_if(groups, [](const auto& members) { return members.empty(); });
    std::sort(groups.begin(), groups.end());
  }
  std::vector<QueryGroup> out;
  for (std::vector<std::size_t>& members : groups) {
    QueryGroup group;
    group.centre = mean_of(queries, members);
    group.nearest = *std::min_element(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return squared_distance(queries.row(a), group.centre) < squared_distance(queries.row(b), group.centre);
    });
    group.members = std::move(members);
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace casemate
