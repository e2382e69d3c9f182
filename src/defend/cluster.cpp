#include "casemate/defend/cluster.h"

#include <algorithm>
#include <array>
#include <optional>

#include "casemate/text/rouge.h"
#include "defend/candidate_vectors.h"

namespace casemate {
namespace {

constexpr int kMaxRounds = 100;
using Members = std::vector<std::size_t>;

/// Cosines of all pairs, [n * n].
std::vector<double> pairwise(std::span<const PassageCandidate> pool) {
  const std::size_t n = pool.size();
  std::vector<double> out(n * n, 1.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j)
      out[i * n + j] = out[j * n + i] = cosine(pool[i].embedding, pool[j].embedding);
  }
  return out;
}

std::vector<float> mean_of(std::span<const PassageCandidate> pool, const Members& members) {
  std::vector<float> mean(pool[0].embedding.size(), 0.0F);
  for (const std::size_t i : members) {
    for (std::size_t x = 0; x < mean.size(); ++x) mean[x] += pool[i].embedding[x] / static_cast<float>(members.size());
  }
  return mean;
}

struct Clustering {
  std::array<Members, 2> clusters;
  double cohesion = -1e300;  ///< sum of each member's cosine to its centre
};

Clustering two_means_from(std::span<const PassageCandidate> pool, std::size_t first, std::size_t second) {
  std::array<std::vector<float>, 2> centres = {pool[first].embedding, pool[second].embedding};
  Clustering out;
  for (int round = 0; round < kMaxRounds; ++round) {
    std::array<Members, 2> next;
    double cohesion = 0;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      const double to_first = cosine(pool[i].embedding, centres[0]);
      const double to_second = cosine(pool[i].embedding, centres[1]);
      next[to_second > to_first ? 1 : 0].push_back(i);
      cohesion += std::max(to_first, to_second);
    }
    out.cohesion = cohesion;
    if (next == out.clusters) break;
    out.clusters = std::move(next);
    for (std::size_t c = 0; c < 2; ++c) {
      if (!out.clusters[c].empty()) centres[c] = mean_of(pool, out.clusters[c]);
    }
  }
  return out;
}

/// Spherical k-means with two clusters. It starts once from each candidate and the one farthest from it; the best
/// clustering wins, the first of several. Nothing once it is asked to stop.
std::optional<std::array<Members, 2>> two_means(std::span<const PassageCandidate> pool,
                                                const std::vector<double>& cosines, const std::stop_token& stop) {
  const std::size_t n = pool.size();
  Clustering best;
  for (std::size_t i = 0; i < n; ++i) {
    if (stop.stop_requested()) return std::nullopt;
    const auto row = cosines.begin() + static_cast<std::ptrdiff_t>(i * n);
    const auto farthest = std::min_element(row, row + static_cast<std::ptrdiff_t>(n)) - row;
    Clustering found = two_means_from(pool, i, static_cast<std::size_t>(farthest));
    if (found.cohesion > best.cohesion + 1e-9) best = std::move(found);
  }
  return best.clusters;
}

/// Mean over pairs; -1 where there is no pair.
double density(const Members& members, const std::vector<double>& cosines, std::size_t n) {
  double sum = 0;
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = a + 1; b < members.size(); ++b, ++pairs) sum += cosines[members[a] * n + members[b]];
  }
  return pairs == 0 ? -1 : sum / static_cast<double>(pairs);
}

/// For each member its mean ROUGE-L to the others. Nothing once it is asked to stop.
std::optional<std::vector<double>> shared_wording(std::span<const PassageCandidate> pool, const Members& members,
                                                  const std::stop_token& stop) {
  std::vector<std::vector<std::string>> words;
  for (const std::size_t i : members) words.push_back(rouge_words(pool[i].text.bytes()));
  std::vector<double> sums(members.size(), 0.0);
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = a + 1; b < members.size(); ++b) {
      if (stop.stop_requested()) return std::nullopt;
      const double shared = rouge_l(words[a], words[b]).f;
      sums[a] += shared;
      sums[b] += shared;
    }
  }
  for (double& sum : sums) sum /= static_cast<double>(members.size() - 1);
  return sums;
}

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::create(const ClusterOptions& options) {
  if (Status good = check_range("cluster.pool_size", options.pool_size, 1, 200); !good) return good.error();
  if (Status good = check_range("cluster.min_cosine", options.min_cosine, -1, 1); !good) return good.error();
  if (Status good = check_range("cluster.min_rouge_l", options.min_rouge_l, 0, 1); !good) return good.error();
  return std::unique_ptr<Cluster>(new Cluster(options));  // private constructor; owned at once
}

Parameters Cluster::parameters() const {
  return {{"pool_size", std::to_string(options_.pool_size)},
          {"min_cosine", parameter_text(options_.min_cosine)},
          {"min_rouge_l", parameter_text(options_.min_rouge_l)}};
}

int Cluster::pool_size(int top_k) const noexcept { return std::max(top_k, options_.pool_size); }

Result<DefendedRanking> Cluster::rank(const DefenceQuery& /*query*/, std::span<const PassageCandidate> candidates,
                                      int top_k, std::stop_token stop) const {
  const auto pool = pool_of(candidates, pool_size(top_k));
  if (Status good = require_embeddings(pool, name()); !good) return good.error();
  DefendedRanking ranking;
  std::vector<double> density_of(pool.size(), -1);
  std::vector<double> wording_of(pool.size(), 0);
  std::vector<bool> dropped(pool.size(), false);
  if (pool.size() >= 2) {
    const std::vector<double> cosines = pairwise(pool);
    const auto clusters = two_means(pool, cosines, stop);
    if (!clusters) return cancelled(name());
    const std::array<double, 2> densities = {density((*clusters)[0], cosines, pool.size()),
                                             density((*clusters)[1], cosines, pool.size())};
    for (std::size_t c = 0; c < 2; ++c) {
      for (const std::size_t i : (*clusters)[c]) density_of[i] = densities[c];
    }
    const std::size_t denser = densities[1] > densities[0] ? 1 : 0;
    if (densities[denser] > options_.min_cosine) {
      const Members& suspicious = (*clusters)[denser];
      const auto wording = shared_wording(pool, suspicious, stop);
      if (!wording) return cancelled(name());
      for (std::size_t at = 0; at < suspicious.size(); ++at) {
        wording_of[suspicious[at]] = (*wording)[at];
        dropped[suspicious[at]] = (*wording)[at] > options_.min_rouge_l;
      }
    }
  }
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const bool full = ranking.passages.size() == static_cast<std::size_t>(top_k);
    Verdict verdict = verdict_of(pool[i], dropped[i] || full ? Decision::kDropped : Decision::kKept,
                                 dropped[i] ? "in a cluster of passages that resemble each other in meaning and wording"
                                 : full     ? "beyond top_k"
                                            : "not in a suspicious cluster");
    if (density_of[i] >= -1) {
      verdict.score = density_of[i];
      verdict.threshold = options_.min_cosine;
      verdict.measures = {{"rouge_l", wording_of[i]}};
    }
    ranking.verdicts.push_back(std::move(verdict));
    if (!dropped[i] && !full) ranking.passages.push_back({i, pool[i].score});
  }
  return ranking;
}

}  // namespace casemate
