#include "casemate/retrieve/candidate_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "casemate/core/random.h"
#include "casemate/retrieve/prepare_candidates.h"
#include "retrieve/tenant_index.h"
#include "support/vector_store.h"

namespace casemate {
namespace {

constexpr int kDimension = 16;
constexpr int kClusters = 40;

/// A store of clustered unit vectors, as embeddings are.
class CandidateIndexTest : public testing::TestWithParam<CandidateMethod> {
 protected:
  void SetUp() override {
    options_.method = GetParam();
    options_.exact_below = 0;
  }

  static std::vector<float> unit_vector(RandomStream& random, int cluster) {
    RandomStream centre(11, "cluster " + std::to_string(cluster));
    std::vector<float> out(kDimension);
    double square = 0;
    for (float& x : out) {
      x = static_cast<float>(centre.normal() + 0.4 * random.normal());
      square += static_cast<double>(x) * static_cast<double>(x);
    }
    for (float& x : out) x /= static_cast<float>(std::sqrt(square));
    return out;
  }

  void add(int count, const std::string& stream, const std::string& tenant = "t", const std::string& label = "all") {
    vectors_.add(vectors_of(stream, count), label, tenant);
  }

  static std::vector<float> vectors_of(const std::string& stream, int count) {
    RandomStream random(5, stream);
    std::vector<float> values;
    for (int i = 0; i < count; ++i) {
      const std::vector<float> one = unit_vector(random, i % kClusters);
      values.insert(values.end(), one.begin(), one.end());
    }
    return values;
  }

  static std::vector<float> queries(int count) { return vectors_of("queries", count); }

  PreparedCandidates prepare(const std::string& tenant = "t") {
    const auto made = prepare_candidates(store(), tenant, GetParam(), two_, Progress::none(), {});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : PreparedCandidates{};
  }

  std::shared_ptr<const TenantIndex> open(const TenantIndex* previous = nullptr, const std::string& tenant = "t") {
    auto snapshot = store().snapshot(tenant);
    EXPECT_TRUE(snapshot.ok());
    auto made = TenantIndex::create(store(), tenant, *snapshot, options_, two_, previous);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : nullptr;
  }

  /// The share of the exact top `k` that is found too.
  static double recall(const std::vector<std::vector<DenseHit>>& found,
                       const std::vector<std::vector<DenseHit>>& exact) {
    std::size_t hits = 0;
    std::size_t all = 0;
    for (std::size_t q = 0; q < exact.size(); ++q) {
      for (const DenseHit& hit : exact[q]) {
        ++all;
        hits += static_cast<std::size_t>(std::count(found[q].begin(), found[q].end(), hit));
      }
    }
    return static_cast<double>(hits) / static_cast<double>(all);
  }

  std::string candidates_path() {
    return vectors_.path() + "/candidates/" + *candidates_file(store(), "t", GetParam());
  }

  Store& store() { return vectors_.store(); }

  test::VectorStore vectors_{kDimension, 1};
  ThreadPool two_{2};
  CandidateOptions options_;
};

TEST_P(CandidateIndexTest, FindsNearlyWhatTheExactScanFindsWithTheSameScoresBitForBit) {
  add(3000, "a");
  EXPECT_EQ(prepare().passages, 3000U);
  const auto index = open();
  ASSERT_EQ(index->method(), GetParam()) << index->note();
  const std::vector<float> asked = queries(100);
  const auto exact = index->dense()->search(asked, kDimension, 10, nullptr, two_);
  const auto found = index->search(asked, kDimension, 10, nullptr, options_, two_);
  ASSERT_TRUE(exact.ok() && found.ok()) << found.error().message;
  // `recall` compares chunk and score, so an inexact score would count as missed.
  EXPECT_GT(recall(*found, *exact), 0.95);
  for (const auto& hits : *found) {
    EXPECT_EQ(hits.size(), 10U);
    EXPECT_TRUE(std::is_sorted(hits.begin(), hits.end(), ranks_before));
  }
  // With everything looked at there is nothing left to miss.
  CandidateOptions all = options_;
  all.breadth = 3000;
  all.rescored = 3000;
  const auto whole = index->search(asked, kDimension, 10, nullptr, all, two_);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(*whole, *exact);
}

TEST_P(CandidateIndexTest, BreadthIsWhatIsLookedAtAndNotWhatIsScored) {
  add(3000, "a");
  prepare();
  const auto index = open();
  const std::vector<float> asked = queries(100);
  const auto exact = index->dense()->search(asked, kDimension, 5, nullptr, two_);
  ASSERT_TRUE(exact.ok());
  std::vector<double> recalls;
  for (const int breadth : {1, 3000}) {
    CandidateOptions some = options_;
    some.breadth = breadth;
    some.rescored = 5;
    const auto found = index->search(asked, kDimension, 5, nullptr, some, two_);
    ASSERT_TRUE(found.ok()) << found.error().message;
    for (const auto& hits : *found) EXPECT_LE(hits.size(), 5U);
    recalls.push_back(recall(*found, *exact));
  }
  EXPECT_LT(recalls[0] + 0.02, recalls[1]);
}

TEST_P(CandidateIndexTest, PassagesThatCameLaterAreFoundAndDeletedOnesAreNot) {
  add(500, "a");
  prepare();
  const auto before = open();
  add(50, "late");
  const std::vector<std::string> gone = {"0", "1", "2"};
  ASSERT_TRUE(store().delete_documents("t", gone).ok());
  const auto index = open(before.get());
  ASSERT_EQ(index->method(), GetParam()) << index->note();
  EXPECT_EQ(index->unproposed(), 50U);
  CandidateOptions all = options_;
  all.breadth = 500;
  all.rescored = 500;
  const std::vector<float> asked = queries(40);
  const auto exact = index->dense()->search(asked, kDimension, 30, nullptr, two_);
  const auto found = index->search(asked, kDimension, 30, nullptr, all, two_);
  ASSERT_TRUE(exact.ok() && found.ok());
  EXPECT_EQ(*found, *exact);
}

TEST_P(CandidateIndexTest, DeletedPassagesTakeNoOthersPlace) {
  // 150 copies of the question itself lie nearer to it than all else, and are deleted after the index was made.
  add(400, "a");
  const std::vector<float> asked = queries(1);
  std::vector<float> copies;
  for (int i = 0; i < 150; ++i) copies.insert(copies.end(), asked.begin(), asked.end());
  vectors_.add(copies);
  prepare();
  for (std::size_t i = 400; i < 550; ++i) vectors_.remove(i);
  const auto index = open();
  ASSERT_EQ(index->method(), GetParam()) << index->note();
  const auto exact = index->dense()->search(asked, kDimension, 5, nullptr, two_);
  const auto found = index->search(asked, kDimension, 5, nullptr, options_, two_);
  ASSERT_TRUE(exact.ok() && found.ok());
  EXPECT_EQ(*found, *exact);
  // IVF finds the others by itself. In the graph the copies have links to each other alone, so that a search which
  // comes among them never gets out: it finds none, and every passage is looked at instead.
  const auto loaded = load_candidates(store(), *candidates_file(store(), "t", GetParam()));
  ASSERT_TRUE(loaded.ok());
  std::vector<ChunkId> live = (*loaded)->chunks().ids();
  live.resize(400);
  const ChunkSet allowed({{live.front(), live.back() + 1}});
  const auto proposed = (*loaded)->find(asked, 20, 400, &allowed);
  ASSERT_TRUE(proposed.ok());
  EXPECT_EQ(proposed->size(), GetParam() == CandidateMethod::kIvf ? 20U : 0U);
  for (const ChunkId chunk : *proposed) EXPECT_TRUE(allowed.contains(chunk));
}

TEST_P(CandidateIndexTest, WhatIsCompactedIsInNoCandidateIndexEither) {
  add(50, "a");
  prepare();
  EXPECT_EQ(*drop_candidates(store()), 1U);
  EXPECT_EQ(*candidates_file(store(), "t", GetParam()), "");
  EXPECT_EQ(open()->method(), CandidateMethod::kExact);
  EXPECT_TRUE(FileSystem::posix().list(vectors_.path() + "/candidates")->empty());
  EXPECT_EQ(*drop_candidates(store()), 0U);
  prepare();
  EXPECT_EQ(open()->method(), GetParam());
}

TEST_P(CandidateIndexTest, RetrieversWithOneShelfShareWhatWasRead) {
  add(50, "a");
  prepare();
  options_.shelf = std::make_shared<CandidateShelf>();
  const std::string file = *candidates_file(store(), "t", GetParam());
  EXPECT_EQ(options_.shelf->find(file), nullptr);
  const auto first = open();
  const auto shelved = options_.shelf->find(file);
  ASSERT_NE(shelved, nullptr);
  const auto second = open();
  EXPECT_EQ(shelved.use_count(), 3);  // this one and the two
}

TEST_P(CandidateIndexTest, AFilterIsScannedExactly) {
  add(600, "a");
  add(7, "b", "t", "rare");
  prepare();
  const auto index = open();
  DocumentFilter filter;
  filter.any_of = {"rare"};
  const auto allowed = store().select("t", filter);
  ASSERT_TRUE(allowed.ok());
  const auto found = index->search(queries(5), kDimension, 10, allowed->get(), options_, two_);
  ASSERT_TRUE(found.ok());
  for (const auto& hits : *found) EXPECT_EQ(hits.size(), 7U);
}

TEST_P(CandidateIndexTest, TheSamePassagesGiveTheSameFileAndPreparingAgainLeavesOne) {
  add(300, "a");
  prepare();
  const std::string first = candidates_path();
  add(10, "b");
  prepare();
  EXPECT_NE(candidates_path(), first);
  const auto left = FileSystem::posix().list(vectors_.path() + "/candidates");
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->size(), 1U);
  if (GetParam() != CandidateMethod::kHnsw) return;
  const std::string second = candidates_path();
  prepare();
  EXPECT_EQ(candidates_path(), second);
}

TEST_P(CandidateIndexTest, DamagedMissingAndAbsentFilesMeanThatEverythingIsLookedAt) {
  add(200, "a");
  EXPECT_EQ(open()->method(), CandidateMethod::kExact);
  EXPECT_NE(open()->note().find("casemate prepare"), std::string::npos);
  prepare();
  ASSERT_EQ(open()->method(), GetParam());
  const std::string path = candidates_path();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\x55');
    file.put('\x2a');
  }
  const auto damaged = open();
  EXPECT_EQ(damaged->method(), CandidateMethod::kExact);
  EXPECT_NE(damaged->note().find("damaged"), std::string::npos);
  const auto found = damaged->search(queries(1), kDimension, 5, nullptr, options_, two_);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)[0].size(), 5U);
  ASSERT_TRUE(FileSystem::posix().remove(path).ok());
  EXPECT_EQ(open()->method(), CandidateMethod::kExact);
  // A setting that names no hash never becomes a path.
  ASSERT_TRUE(
      store()
          .set_setting("t", "candidates." + std::string(candidate_method_name(GetParam())), "../../../../etc/passwd")
          .ok());
  EXPECT_EQ(candidates_file(store(), "t", GetParam()).error().code, ErrorCode::kCorrupt);
}

TEST_P(CandidateIndexTest, SmallTenantsAreScannedExactlyAndOthersHaveTheirOwnFile) {
  add(200, "a");
  add(30, "x", "other");
  prepare();
  EXPECT_EQ(open(nullptr, "other")->method(), CandidateMethod::kExact);
  prepare("other");
  EXPECT_EQ(open(nullptr, "other")->method(), GetParam());
  EXPECT_NE(*candidates_file(store(), "t", GetParam()), *candidates_file(store(), "other", GetParam()));
  options_.exact_below = 201;
  EXPECT_EQ(open()->method(), CandidateMethod::kExact);
}

TEST_P(CandidateIndexTest, BadInputIsRefusedAndStoppingChangesNothing) {
  const auto empty = prepare_candidates(store(), "t", GetParam(), two_, Progress::none(), {});
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  add(1, "a");
  prepare();  // one passage is enough
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = prepare_candidates(store(), "t", GetParam(), two_, Progress::none(), stop.get_token());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  const auto index = open();
  ASSERT_EQ(index->method(), GetParam());
  std::vector<float> asked = queries(1);
  EXPECT_EQ((*index->search(asked, kDimension, 3, nullptr, options_, two_))[0].size(), 1U);
  EXPECT_EQ((*index->search(asked, kDimension, 0, nullptr, options_, two_))[0].size(), 0U);
  asked[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(index->search(asked, kDimension, 3, nullptr, options_, two_).error().code, ErrorCode::kInvalidArgument);
  asked.resize(kDimension - 1);
  asked[3] = 0;
  EXPECT_EQ(index->search(asked, kDimension - 1, 3, nullptr, options_, two_).error().code, ErrorCode::kInvalidArgument);
  for (const std::string& bytes : {std::string(), std::string("casemate-candidates-1\n"), std::string(200, 'x'),
                                   "casemate-candidates-1\n9" + std::string(100, '\xff')}) {
    EXPECT_EQ(CandidateIndex::deserialise(bytes).error().code, ErrorCode::kCorrupt);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, CandidateIndexTest, testing::Values(CandidateMethod::kHnsw, CandidateMethod::kIvf),
                         [](const auto& method) { return std::string(candidate_method_name(method.param)); });

TEST(CandidateMethods, HaveNamesAndOthersAreRefused) {
  for (const auto method : {CandidateMethod::kExact, CandidateMethod::kHnsw, CandidateMethod::kIvf})
    EXPECT_EQ(*parse_candidate_method(candidate_method_name(method)), method);
  const auto unknown = parse_candidate_method("annoy");
  EXPECT_NE(unknown.error().message.find("exact, hnsw, ivf"), std::string::npos);
}

}  // namespace
}  // namespace casemate
