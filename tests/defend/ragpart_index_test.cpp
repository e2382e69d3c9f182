#include "casemate/defend/ragpart_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "casemate/core/random.h"
#include "support/vector_store.h"

namespace casemate {
namespace {

/// The result of building every one of the C(N, k) databases, from whole numbers.
struct Twin {
  struct List {
    std::uint32_t subset = 0;
    std::vector<std::pair<double, ChunkId>> top;  ///< best first
  };
  std::vector<List> lists;
  std::map<ChunkId, std::uint32_t> votes;
  std::map<ChunkId, std::int64_t> totals;
  std::vector<ChunkId> majority;
  std::vector<ChunkId> intersection;
  std::set<ChunkId> in_any;
};

struct Corpus {
  std::size_t n = 0;
  std::size_t d = 0;
  std::vector<ChunkId> ids;
  std::vector<float> rows;  ///< [chunks, n, d], whole numbers
};

Twin build_databases(const Corpus& corpus, const float* query, int k, std::size_t p, bool renormalise,
                     const ChunkSet* allowed) {
  Twin twin;
  const std::size_t n = corpus.n;
  for (std::uint32_t subset = 0; subset < (1U << n); ++subset) {
    if (std::popcount(subset) != k) continue;
    Twin::List list;
    list.subset = subset;
    for (std::size_t c = 0; c < corpus.ids.size(); ++c) {
      if (allowed != nullptr && !allowed->contains(corpus.ids[c])) continue;
      // The mean's direction is that of the sum, whose entries are whole numbers.
      std::int64_t dot = 0;
      std::int64_t square = 0;
      for (std::size_t j = 0; j < corpus.d; ++j) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          if ((subset >> i & 1U) != 0) sum += static_cast<std::int64_t>(corpus.rows[(c * n + i) * corpus.d + j]);
        }
        dot += sum * static_cast<std::int64_t>(query[j]);
        square += sum * sum;
      }
      double score = static_cast<double>(dot);
      if (renormalise) score = square == 0 ? 0.0 : score / std::sqrt(static_cast<double>(square));
      list.top.emplace_back(score, corpus.ids[c]);
    }
    std::sort(list.top.begin(), list.top.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    if (list.top.size() > p) list.top.resize(p);
    for (const auto& [score, id] : list.top) {
      ++twin.votes[id];
      twin.in_any.insert(id);
    }
    twin.lists.push_back(std::move(list));
  }
  for (std::size_t c = 0; c < corpus.ids.size(); ++c) {
    std::int64_t& total = twin.totals[corpus.ids[c]];
    for (std::size_t i = 0; i < n * corpus.d; ++i)
      total +=
          static_cast<std::int64_t>(corpus.rows[c * n * corpus.d + i]) * static_cast<std::int64_t>(query[i % corpus.d]);
  }
  const auto before = [&](ChunkId a, ChunkId b, bool by_votes) {
    if (by_votes && twin.votes[a] != twin.votes[b]) return twin.votes[a] > twin.votes[b];
    return twin.totals[a] != twin.totals[b] ? twin.totals[a] > twin.totals[b] : a < b;
  };
  twin.majority.assign(twin.in_any.begin(), twin.in_any.end());
  std::sort(twin.majority.begin(), twin.majority.end(), [&](ChunkId a, ChunkId b) { return before(a, b, true); });
  if (twin.majority.size() > p) twin.majority.resize(p);
  for (const auto& [id, votes] : twin.votes) {
    if (votes == twin.lists.size()) twin.intersection.push_back(id);
  }
  std::sort(twin.intersection.begin(), twin.intersection.end(),
            [&](ChunkId a, ChunkId b) { return before(a, b, false); });
  return twin;
}

std::vector<ChunkId> ids_of(const RagPartRanking& ranking) {
  std::vector<ChunkId> ids;
  for (const RagPartHit& hit : ranking.hits) ids.push_back(hit.chunk);
  return ids;
}

void expect_equal(const RagPartRanking& found, const Twin& twin, const RagPartSearchOptions& options, bool renormalise,
                  std::size_t n) {
  ASSERT_EQ(found.lists, twin.lists.size());
  std::map<ChunkId, std::uint32_t> votes;
  for (const RagPartVote& vote : found.voted) votes[vote.chunk] = vote.votes;
  ASSERT_EQ(votes, twin.votes);
  for (const RagPartHit& hit : found.hits) {
    EXPECT_EQ(hit.votes, twin.votes.at(hit.chunk));
    EXPECT_DOUBLE_EQ(hit.mean_score * static_cast<double>(n), static_cast<double>(twin.totals.at(hit.chunk)));
    ASSERT_EQ(hit.fragment_scores.size(), n);
    EXPECT_EQ(std::accumulate(hit.fragment_scores.begin(), hit.fragment_scores.end(), 0.0),
              static_cast<double>(twin.totals.at(hit.chunk)));
  }
  if (options.aggregation == RagPartAggregation::kMajority) {
    EXPECT_FALSE(found.drawn);
    ASSERT_EQ(ids_of(found), twin.majority);
  } else if (!twin.intersection.empty()) {
    EXPECT_FALSE(found.drawn);
    ASSERT_EQ(ids_of(found), twin.intersection);
  } else {
    EXPECT_EQ(found.drawn, !twin.in_any.empty());
    const std::vector<ChunkId> drawn = ids_of(found);
    const std::set<ChunkId> different(drawn.begin(), drawn.end());
    EXPECT_EQ(different.size(), drawn.size());
    EXPECT_EQ(drawn.size(), std::min(twin.in_any.size(), static_cast<std::size_t>(options.top_p)));
    for (const ChunkId id : drawn) EXPECT_TRUE(twin.in_any.contains(id));
  }
  if (!options.keep_lists) return;
  std::map<std::uint32_t, const Twin::List*> expected;
  for (const Twin::List& list : twin.lists) expected[list.subset] = &list;
  if (twin.in_any.empty()) {
    EXPECT_TRUE(found.all_lists.subsets.empty());
    return;
  }
  ASSERT_EQ(found.all_lists.subsets.size(), twin.lists.size());
  for (std::size_t l = 0; l < found.all_lists.subsets.size(); ++l) {
    const Twin::List& list = *expected.at(found.all_lists.subsets[l]);
    const auto top = found.all_lists.list(l);
    ASSERT_EQ(top.size(), list.top.size());
    for (std::size_t i = 0; i < top.size(); ++i) {
      ASSERT_EQ(top[i].chunk, list.top[i].second);
      if (renormalise) {
        ASSERT_EQ(top[i].score, list.top[i].first);
      } else {
        ASSERT_EQ(static_cast<double>(top[i].sum) * kRagPartUnit, list.top[i].first);
        ASSERT_DOUBLE_EQ(top[i].score, list.top[i].first / options.combination);
      }
    }
  }
}

/// Whole numbers from -2 to 2, so that every sum is exact and ties abound; zero vectors, repeats, and chunks that are
/// the same.
Corpus make_corpus(RandomStream& random, std::size_t n, std::size_t d, std::size_t chunks) {
  Corpus corpus;
  corpus.n = n;
  corpus.d = d;
  corpus.rows.resize(chunks * n * d);
  for (float& x : corpus.rows) x = static_cast<float>(random.below(5)) - 2;
  for (std::size_t c = 0; c < chunks; ++c) {
    float* own = corpus.rows.data() + c * n * d;
    const std::uint64_t kind = random.below(8);
    if (kind == 0) std::fill(own, own + n * d, 0.0F);
    if (kind == 1 && c > 0) std::copy(own - n * d, own, own);
    if (kind == 2) {
      for (std::size_t i = 1; i < n; ++i) std::copy(own, own + d, own + i * d);
    }
    if (kind == 3) std::fill(own + random.below(n) * d, own + n * d, 0.0F);
  }
  return corpus;
}

TEST(RagPartIndex, EqualsTheDatabasesOfAllCombinationsOnThousandsOfSmallCases) {
  RandomStream random(2026, "ragpart");
  const ThreadPool one(1);
  const ThreadPool two(2);
  int cases = 0;
  int drawn = 0;
  for (int round = 0; round < 70; ++round) {
    const std::size_t n = round < 6 ? 20 - static_cast<std::size_t>(round) : 1 + random.below(9);
    const std::size_t d = 1 + random.below(10);
    const std::size_t chunks = n > 12 ? 3 + random.below(20) : 1 + random.below(70);
    Corpus corpus = make_corpus(random, n, d, chunks);
    test::VectorStore store(static_cast<int>(d), static_cast<int>(n));
    const std::size_t half = chunks / 2 * n * d;
    if (half > 0) store.add(std::span(corpus.rows).first(half));
    store.add(std::span(corpus.rows).subspan(half));
    const auto snapshot = store.snapshot();
    for (const VectorBlock& block : snapshot->blocks())
      corpus.ids.insert(corpus.ids.end(), block.chunk_ids.begin(), block.chunk_ids.end());
    ASSERT_EQ(corpus.ids.size(), chunks);
    for (const bool renormalise : {false, true}) {
      const auto index = RagPartIndex::create(snapshot, {renormalise}, two);
      ASSERT_TRUE(index.ok()) << index.error().message;
      for (int search = 0; search < (n > 12 ? 2 : 14); ++search) {
        RagPartSearchOptions options;
        options.combination = 1 + static_cast<int>(random.below(n));
        if (n > 16) options.combination = search == 0 ? static_cast<int>(n) - 3 : 3;
        options.top_p = static_cast<int>(random.below(3) == 0 ? random.below(80) : random.below(6));
        options.aggregation = random.below(2) == 0 ? RagPartAggregation::kMajority : RagPartAggregation::kIntersection;
        options.seed = random.next_u64();
        options.keep_lists = random.below(2) == 0;
        std::vector<float> queries(3 * d);
        for (float& x : queries) x = static_cast<float>(random.below(5)) - 2;
        if (random.below(5) == 0) std::fill_n(queries.begin(), d, 0.0F);
        std::unique_ptr<ChunkSet> allowed;
        if (random.below(3) == 0) {
          std::vector<ChunkRange> ranges;
          for (const ChunkId id : corpus.ids) {
            if (random.below(2) == 0) ranges.push_back({id, id + 1});
          }
          allowed = std::make_unique<ChunkSet>(std::move(ranges));
        }
        const auto found = (*index)->search(queries, d, options, allowed.get(), one);
        ASSERT_TRUE(found.ok()) << found.error().message;
        for (std::size_t q = 0; q < 3; ++q) {
          const Twin twin = build_databases(corpus, queries.data() + q * d, options.combination,
                                            static_cast<std::size_t>(options.top_p), renormalise, allowed.get());
          if (options.top_p == 0) {
            ASSERT_TRUE((*found)[q].hits.empty());
            continue;
          }
          expect_equal((*found)[q], twin, options, renormalise, n);
          ASSERT_FALSE(HasFatalFailure()) << "N " << n << " k " << options.combination << " p " << options.top_p
                                          << " renormalise " << renormalise << " chunks " << chunks;
          // Alone and on two threads it is the same, the draw too.
          const auto alone = (*index)->search(std::span(queries).subspan(q * d, d), d, options, allowed.get(), two);
          ASSERT_TRUE(alone.ok());
          ASSERT_EQ(ids_of((*alone)[0]), ids_of((*found)[q]));
          ++cases;
          drawn += (*found)[q].drawn ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(cases, 4000);
  EXPECT_GT(drawn, 100);
}

TEST(RagPartIndex, GivesTheVotesOfTheGoldenFile) {
  std::ifstream stream(std::string(CASEMATE_SOURCE_DIR) + "/tests/golden/ragpart_votes.json");
  const nlohmann::json file = nlohmann::json::parse(stream);
  const ThreadPool pool(2);
  ASSERT_EQ(file["cases"].size(), 12U);
  for (const auto& golden : file["cases"]) {
    const int n = golden["N"];
    test::VectorStore store(1, n);
    std::vector<float> rows;
    for (const auto& chunk : golden["fragment_scores"]) {
      for (const auto& score : chunk) rows.push_back(score);
    }
    store.add(rows);
    const auto snapshot = store.snapshot();
    const ChunkId first = snapshot->blocks()[0].chunk_ids[0];
    const auto index = RagPartIndex::create(snapshot, {}, pool);
    ASSERT_TRUE(index.ok());
    RagPartSearchOptions options;
    options.combination = golden["k"];
    options.top_p = golden["p"];
    options.keep_lists = true;
    const std::vector<float> query = {1.0F};
    const auto found = (*index)->search(query, 1, options, nullptr, pool);
    ASSERT_TRUE(found.ok());
    const RagPartRanking& majority = (*found)[0];
    const auto numbers = [&](std::vector<ChunkId> ids) {
      for (ChunkId& id : ids) id -= first;
      return ids;
    };
    EXPECT_EQ(numbers(ids_of(majority)), golden["majority"].get<std::vector<ChunkId>>()) << golden["name"];
    std::map<std::string, std::uint32_t> votes;
    for (const RagPartVote& vote : majority.voted) votes[std::to_string(vote.chunk - first)] = vote.votes;
    EXPECT_EQ(votes, (golden["votes"].get<std::map<std::string, std::uint32_t>>())) << golden["name"];
    std::map<std::uint32_t, std::vector<ChunkId>> lists;
    for (std::size_t l = 0; l < majority.all_lists.subsets.size(); ++l) {
      for (const RagPartEntry& entry : majority.all_lists.list(l))
        lists[majority.all_lists.subsets[l]].push_back(entry.chunk - first);
    }
    ASSERT_EQ(lists.size(), golden["lists"].size());
    for (const auto& list : golden["lists"]) {
      std::uint32_t subset = 0;
      for (const unsigned fragment : list["fragments"]) subset |= 1U << fragment;
      EXPECT_EQ(lists[subset], list["top"].get<std::vector<ChunkId>>()) << golden["name"];
    }
    options.aggregation = RagPartAggregation::kIntersection;
    const auto crossed = (*index)->search(query, 1, options, nullptr, pool);
    ASSERT_TRUE(crossed.ok());
    const auto expected = golden["intersection"].get<std::vector<ChunkId>>();
    EXPECT_EQ((*crossed)[0].drawn, expected.empty()) << golden["name"];
    if (!expected.empty()) {
      EXPECT_EQ(numbers(ids_of((*crossed)[0])), expected) << golden["name"];
    }
    const auto any = golden["union"].get<std::set<ChunkId>>();
    for (const ChunkId id : numbers(ids_of((*crossed)[0]))) EXPECT_TRUE(any.contains(id)) << golden["name"];
  }
}

/// Real-valued fragments near their passage's direction; the lists are built from the index's own fragment scores,
/// which have a test of their own, so that here the pruning is checked where bounds are neither exact nor loose.
TEST(RagPartIndex, PrunesNothingThatAListHoldsAmongManyRealVectors) {
  constexpr std::size_t kN = 5;
  constexpr std::size_t kD = 64;
  constexpr std::size_t kChunks = 3000;
  RandomStream random(4, "real");
  std::vector<float> rows(kChunks * kN * kD);
  for (std::size_t c = 0; c < kChunks; ++c) {
    std::vector<double> centre(kD);
    for (double& x : centre) x = random.normal() + 1.0;
    for (std::size_t i = 0; i < kN; ++i) {
      double squares = 0;
      std::vector<double> own(kD);
      for (std::size_t j = 0; j < kD; ++j) {
        own[j] = centre[j] + 0.8 * random.normal();
        squares += own[j] * own[j];
      }
      for (std::size_t j = 0; j < kD; ++j)
        rows[(c * kN + i) * kD + j] = static_cast<float>(own[j] / std::sqrt(squares));
    }
  }
  test::VectorStore store(kD, kN);
  store.add(rows);
  const auto snapshot = store.snapshot();
  ASSERT_TRUE(snapshot->blocks()[0].rows.empty());  // so large that rows stay in the file
  const ThreadPool pool(2);
  std::vector<float> queries;
  for (std::size_t q = 0; q < 20; ++q) {
    for (std::size_t j = 0; j < kD; ++j)
      queries.push_back(rows[q * 40 * kN * kD + j] + 0.08F * static_cast<float>(random.normal()));
  }
  const auto plain = RagPartIndex::create(snapshot, {false}, pool);
  const auto cosine = RagPartIndex::create(snapshot, {true}, pool);
  ASSERT_TRUE(plain.ok() && cosine.ok());
  RagPartSearchOptions all;
  all.combination = 1;
  all.top_p = static_cast<int>(kChunks);
  const auto scores = (*plain)->search(queries, kD, all, nullptr, pool);
  ASSERT_TRUE(scores.ok());
  for (const int k : {1, 2, 3, 5}) {
    RagPartSearchOptions options;
    options.combination = k;
    options.keep_lists = true;
    const auto found = (*plain)->search(queries, kD, options, nullptr, pool);
    const auto divided = (*cosine)->search(queries, kD, options, nullptr, pool);
    ASSERT_TRUE(found.ok() && divided.ok());
    for (std::size_t q = 0; q < 20; ++q) {
      for (std::size_t l = 0; l < (*found)[q].all_lists.subsets.size(); ++l) {
        const std::uint32_t subset = (*found)[q].all_lists.subsets[l];
        std::vector<std::pair<double, ChunkId>> sums;
        std::vector<std::pair<double, ChunkId>> cosines;
        for (const RagPartHit& hit : (*scores)[q].hits) {
          double sum = 0;
          std::vector<double> mean(kD);
          const auto c = static_cast<std::size_t>(hit.chunk - snapshot->blocks()[0].chunk_ids[0]);
          for (std::size_t i = 0; i < kN; ++i) {
            if ((subset >> i & 1U) == 0) continue;
            sum += std::nearbyint(static_cast<double>(hit.fragment_scores[i]) / kRagPartUnit);
            for (std::size_t j = 0; j < kD; ++j) mean[j] += static_cast<double>(rows[(c * kN + i) * kD + j]);
          }
          double square = 0;
          for (const double x : mean) square += x * x;
          sums.emplace_back(-sum, hit.chunk);
          cosines.emplace_back(-sum / std::sqrt(square), hit.chunk);
        }
        std::sort(sums.begin(), sums.end());
        std::sort(cosines.begin(), cosines.end());
        for (std::size_t i = 0; i < 5; ++i) {
          ASSERT_EQ((*found)[q].all_lists.list(l)[i].chunk, sums[i].second) << "k " << k << " query " << q;
          ASSERT_EQ((*divided)[q].all_lists.list(l)[i].chunk, cosines[i].second) << "k " << k << " query " << q;
        }
      }
    }
  }
}

TEST(RagPartIndex, RanksTwentyFragmentsByTens) {
  RandomStream random(3, "twenty");
  const Corpus corpus = make_corpus(random, 20, 6, 40);
  test::VectorStore store(6, 20);
  store.add(corpus.rows);
  const ThreadPool pool(2);
  const auto index = RagPartIndex::create(store.snapshot(), {}, pool);
  ASSERT_TRUE(index.ok());
  RagPartSearchOptions options;
  options.combination = 10;
  const std::vector<float> query = {1, 2, -1, 0, 1, -2};
  const auto found = (*index)->search(query, 6, options, nullptr, pool);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].lists, 184'756U);
  std::uint64_t votes = 0;
  for (const RagPartVote& vote : (*found)[0].voted) votes += vote.votes;
  EXPECT_EQ(votes, 5U * 184'756U);
}

TEST(RagPartIndex, AFloodOfCopiesTakesThePlacesInOrderOfIdAndLittleTime) {
  constexpr std::size_t kN = 16;
  constexpr std::size_t kCopies = 4000;
  RandomStream random(8, "copies");
  const Corpus one = make_corpus(random, kN, 4, 1);
  std::vector<float> rows;
  for (std::size_t i = 0; i < kCopies; ++i) rows.insert(rows.end(), one.rows.begin(), one.rows.end());
  test::VectorStore store(4, kN);
  store.add(rows);
  const ThreadPool pool(2);
  const auto index = RagPartIndex::create(store.snapshot(), {}, pool);
  ASSERT_TRUE(index.ok());
  RagPartSearchOptions options;
  options.combination = 8;  // 12,870 lists: with all copies in each, 51 million places
  const auto found = (*index)->search(std::vector<float>{1, -1, 2, 1}, 4, options, nullptr, pool);
  ASSERT_TRUE(found.ok());
  const ChunkId first = store.snapshot()->blocks()[0].chunk_ids[0];
  EXPECT_EQ(ids_of((*found)[0]), (std::vector<ChunkId>{first, first + 1, first + 2, first + 3, first + 4}));
  EXPECT_EQ((*found)[0].voted.size(), 5U);
  EXPECT_EQ((*found)[0].voted[0].votes, 12'870U);
}

TEST(RagPartIndex, RefusesWhatMakesNoSenseAndNamesIt) {
  const ThreadPool pool(1);
  test::VectorStore store(3, 4);
  store.add(std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1});
  const auto index = RagPartIndex::create(store.snapshot(), {}, pool);
  ASSERT_TRUE(index.ok());
  const auto message = [&](std::vector<float> query, std::size_t d, RagPartSearchOptions options) {
    const auto found = (*index)->search(query, d, options, nullptr, pool);
    return found.ok() ? std::string() : found.error().message;
  };
  EXPECT_NE(message({0, 0, 0, 1, std::nanf(""), 1}, 3, {}).find("query 1 is not finite"), std::string::npos);
  EXPECT_NE(message({1, 1}, 2, {}).find("dimension 2"), std::string::npos);
  EXPECT_NE(message({1, 1, 1}, 3, {.combination = 5}).find("1 to 4"), std::string::npos);
  EXPECT_NE(message({1, 1, 1}, 3, {.combination = 0}).find("1 to 4"), std::string::npos);
  EXPECT_NE(message({1, 1, 1}, 3, {.combination = 3, .top_p = -1}).find("top_p"), std::string::npos);
  EXPECT_EQ(message({1, 1, 1}, 3, {.combination = 3, .top_p = 1000}), "");
  test::VectorStore wide(2, 21);
  wide.add(std::vector<float>(42, 1.0F));
  EXPECT_FALSE(RagPartIndex::create(wide.snapshot(), {}, pool).ok());
  test::VectorStore empty(2, 5);
  const auto nothing = RagPartIndex::create(empty.snapshot(), {}, pool);
  ASSERT_TRUE(nothing.ok());
  const auto found = (*nothing)->search(std::vector<float>{1, 2}, 2, {}, nullptr, pool);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE((*found)[0].hits.empty());
}

TEST(RagPartIndex, ScoresBeyondTheGridCountAsItsEnds) {
  const ThreadPool pool(1);
  test::VectorStore store(2, 2);
  // Inner products of 1e30, -1e30, infinity minus infinity, and 1.
  store.add(std::vector<float>{1e30F, 0, 1, 0, -1e30F, 0, 1, 0, 3e38F, -3e38F, 1, 0, 1, 0, 1, 0});
  const auto index = RagPartIndex::create(store.snapshot(), {}, pool);
  ASSERT_TRUE(index.ok());
  const auto found = (*index)->search(std::vector<float>{3, 3}, 2, {.combination = 2, .top_p = 4}, nullptr, pool);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ((*found)[0].hits.size(), 4U);
  const ChunkId first = store.snapshot()->blocks()[0].chunk_ids[0];
  EXPECT_EQ((*found)[0].hits[0].chunk, first);
  EXPECT_EQ((*found)[0].hits[0].mean_score, (0x1p18 + 3) / 2);
  EXPECT_EQ((*found)[0].hits.back().mean_score, (-0x1p18 + 3) / 2);
}

TEST(RagPartIndex, AggregationsHaveNames) {
  EXPECT_EQ(*parse_ragpart_aggregation("majority"), RagPartAggregation::kMajority);
  EXPECT_EQ(*parse_ragpart_aggregation("intersection"), RagPartAggregation::kIntersection);
  EXPECT_FALSE(parse_ragpart_aggregation("union").ok());
}

}  // namespace
}  // namespace casemate
