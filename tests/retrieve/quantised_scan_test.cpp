// The scan over 8-bit codes finds what the float scan finds, id for id and score bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "casemate/core/random.h"
#include "casemate/retrieve/dense_index.h"
#include "retrieve/quantised_scan.h"
#include "support/vector_store.h"

namespace casemate {
namespace {

std::vector<float> normal_values(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed, "values");
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(random.normal());
  return values;
}

void make_unit(std::vector<float>& values, std::size_t d) {
  for (std::size_t at = 0; at < values.size(); at += d) {
    double squares = 0;
    for (std::size_t i = 0; i < d; ++i)
      squares += static_cast<double>(values[at + i]) * static_cast<double>(values[at + i]);
    for (std::size_t i = 0; i < d; ++i)
      values[at + i] = static_cast<float>(static_cast<double>(values[at + i]) / std::sqrt(squares));
  }
}

void expect_hits(const std::vector<DenseHit>& found, const std::vector<DenseHit>& expected, const std::string& what,
                 std::size_t query, int top_k) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i] == expected[i]) << what << ", query " << query << ", top " << top_k << ", place " << i << ": "
                                         << found[i].chunk << " of " << found[i].score << ", expected "
                                         << expected[i].chunk << " of " << expected[i].score;
  }
}

/// Searches both ways, alone and in batches, on one and two threads.
void expect_same(test::VectorStore& store, const std::vector<float>& queries, std::size_t d, const std::string& what,
                 const ChunkSet* allowed = nullptr) {
  const ThreadPool one(1);
  const ThreadPool two(2);
  const auto codes = DenseIndex::create(store.snapshot(), two);
  const auto floats = DenseIndex::create(store.snapshot(VectorAccess::kMemory), two, DenseScan::kFloat);
  ASSERT_TRUE(codes.ok() && floats.ok());
  ASSERT_NE((*codes)->codes(), nullptr);
  for (const int top_k : {1, 5, 37, 5000}) {
    const auto expected = (*floats)->search(queries, d, top_k, allowed, one);
    ASSERT_TRUE(expected.ok());
    for (const ThreadPool* pool : {&one, &two}) {
      const auto found = (*codes)->search(queries, d, top_k, allowed, *pool);
      ASSERT_TRUE(found.ok()) << found.error().message;
      for (std::size_t q = 0; q < expected->size(); ++q) expect_hits((*found)[q], (*expected)[q], what, q, top_k);
    }
    for (std::size_t q = 0; q < queries.size() / d; ++q) {
      const auto alone = (*codes)->search(std::span(queries).subspan(q * d, d), d, top_k, allowed, two);
      ASSERT_TRUE(alone.ok());
      expect_hits((*alone)[0], (*expected)[q], what + ", alone", q, top_k);
    }
  }
}

TEST(QuantisedScan, EqualsTheFloatScanOnRandomVectorsOfManyShapes) {
  for (const int d : {1, 3, 8, 24, 31, 384}) {
    const auto width = static_cast<std::size_t>(d);
    test::VectorStore store(d, 1);
    std::vector<float> values = normal_values(900 * width, 1 + width);
    make_unit(values, width);
    store.add(std::span(values).first(500 * width), "x");
    store.add(std::span(values).subspan(500 * width, 7 * width), "y");
    store.add(std::span(values).subspan(507 * width), "x");
    for (const std::size_t gone : {0, 3, 499, 500, 899}) store.remove(gone);
    std::vector<float> queries = normal_values(40 * width, 99);
    make_unit(queries, width);
    expect_same(store, queries, width, "dimension " + std::to_string(d));
    const auto some = store.store().select(
        "t", DocumentFilter{.any_of = std::vector<std::string>{"y"}, .all_of = {}, .none_of = {}, .trusted = {}});
    ASSERT_TRUE(some.ok());
    expect_same(store, queries, width, "a few of dimension " + std::to_string(d), some->get());
  }
}

TEST(QuantisedScan, EqualsTheFloatScanWhereTheBoundIsHardlyOfUse) {
  constexpr std::size_t kD = 40;
  constexpr std::size_t kCount = 600;
  RandomStream random(7, "hard");
  const auto fill = [&](const std::string& kind) {
    std::vector<float> values = normal_values(kCount * kD, 11);
    for (std::size_t i = 0; i < kCount; ++i) {
      float* row = values.data() + i * kD;
      if (kind == "huge range") {
        for (std::size_t j = 0; j < kD; ++j) row[j] *= std::ldexp(1.0F, static_cast<int>(random.below(60)) - 30);
      } else if (kind == "one huge row" && i == 17) {
        for (std::size_t j = 0; j < kD; ++j) row[j] *= 1e30F;
      } else if (kind == "denormals") {
        for (std::size_t j = 0; j < kD; ++j) row[j] *= 1e-41F;
      } else if (kind == "overflow") {
        for (std::size_t j = 0; j < kD; ++j) row[j] = (i + j) % 2 == 0 ? 3e38F : -3e38F;
      } else if (kind == "zeros" && i % 3 != 0) {
        std::fill(row, row + kD, 0.0F);
      } else if (kind == "duplicates") {
        std::copy(values.begin(), values.begin() + kD, row);
      } else if (kind == "close together") {
        for (std::size_t j = 0; j < kD; ++j) row[j] = values[j] + 1e-6F * row[j];
      } else if (kind == "few integers") {
        for (std::size_t j = 0; j < kD; ++j) row[j] = static_cast<float>(random.below(3)) - 1;
      } else if (kind == "one direction") {
        for (std::size_t j = 0; j < kD; ++j) row[j] = 50 + 0.3F * row[j];
      }
    }
    return values;
  };
  for (const std::string kind : {"huge range", "one huge row", "denormals", "overflow", "zeros", "duplicates",
                                 "close together", "few integers", "one direction"}) {
    test::VectorStore store(kD, 1);
    const std::vector<float> values = fill(kind);
    store.add(std::span(values).first(300 * kD));
    store.add(std::span(values).subspan(300 * kD));
    std::vector<float> queries = normal_values(12 * kD, 5);
    std::fill_n(queries.begin(), kD, 0.0F);
    for (std::size_t j = 0; j < kD; ++j) queries[kD + j] *= 1e-42F;
    for (std::size_t j = 0; j < kD; ++j) queries[2 * kD + j] = 1e38F;
    for (std::size_t j = 0; j < kD; ++j) queries[3 * kD + j] = j == 5 ? 1.0F : 0.0F;
    for (std::size_t j = 0; j < kD; ++j) queries[4 * kD + j] = static_cast<float>(j % 3) - 1;
    expect_same(store, queries, kD, kind);
  }
}

TEST(QuantisedScan, LooksAtFewRowsOfUsualVectors) {
  constexpr std::size_t kD = 128;
  test::VectorStore store(kD, 1);
  std::vector<float> values = normal_values(4000 * kD, 3);
  // Around one direction, as encoders put them.
  for (float& x : values) x += 2;
  make_unit(values, kD);
  store.add(values);
  std::vector<float> queries(values.begin(), values.begin() + 8 * kD);
  const ThreadPool pool(2);
  const auto codes = QuantisedVectors::create(store.snapshot(), {}, pool);
  ASSERT_TRUE(codes.ok());
  ScanOptions options;
  options.wanted = 5;
  const auto candidates = quantised_scan(**codes, queries, options, {(*codes)->served(0, nullptr)}, pool);
  for (const auto& query : candidates) {
    EXPECT_GE(query.size(), 5U);
    EXPECT_LT(query.size(), 200U);
  }
}

TEST(QuantisedScan, TakesTheCodesOfEarlierSegmentsOver) {
  test::VectorStore store(16, 1);
  store.add(normal_values(100 * 16, 1));
  const ThreadPool pool(1);
  const auto before = DenseIndex::create(store.snapshot(), pool);
  ASSERT_TRUE(before.ok());
  store.add(normal_values(100 * 16, 2));
  store.remove(4);
  const auto after = DenseIndex::create(store.snapshot(), pool, DenseScan::kInt8, before->get());
  ASSERT_TRUE(after.ok());
  EXPECT_EQ((*before)->codes()->blocks()[0], (*after)->codes()->blocks()[0]);
  const std::vector<float> query = normal_values(16, 9);
  const auto anew = DenseIndex::create(store.snapshot(), pool);
  EXPECT_EQ(*(*after)->search(query, 16, 50, nullptr, pool), *(*anew)->search(query, 16, 50, nullptr, pool));
}

/// Rows of more than a mebibyte stay in the file.
TEST(QuantisedScan, AFileThatIsCutOrChangedUnderItIsAnErrorThatNamesIt) {
  constexpr std::size_t kD = 256;
  test::VectorStore store(kD, 1);
  std::vector<float> values = normal_values(1500 * kD, 4);
  make_unit(values, kD);
  store.add(values);
  const ThreadPool pool(2);
  const auto snapshot = store.snapshot();
  ASSERT_TRUE(snapshot->blocks()[0].rows.empty());
  const auto index = DenseIndex::create(snapshot, pool);
  ASSERT_TRUE(index.ok());
  const std::vector<float> query(values.begin() + 700 * kD, values.begin() + 701 * kD);
  ASSERT_TRUE((*index)->search(query, kD, 5, nullptr, pool).ok());
  const std::string path = store.path() + "/" + snapshot->blocks()[0].file;
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) - 32 - (800 * kD - 3) * sizeof(float)));
    file.write("?", 1);
  }
  const auto changed = (*index)->search(query, kD, 5, nullptr, pool);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(changed.error().message.find("segments/000001.seg"), std::string::npos);
  std::filesystem::resize_file(path, 5000);
  const auto cut = (*index)->search(query, kD, 5, nullptr, pool);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, ErrorCode::kCorrupt);
}

TEST(QuantisedScan, RowsOutliveTheirFilesName) {
  constexpr std::size_t kD = 256;
  test::VectorStore store(kD, 1);
  store.add(normal_values(1500 * kD, 4));
  const ThreadPool pool(1);
  const auto index = DenseIndex::create(store.snapshot(), pool);
  ASSERT_TRUE(index.ok());
  const std::vector<float> query = normal_values(kD, 5);
  const auto before = (*index)->search(query, kD, 5, nullptr, pool);
  store.remove(3);
  ASSERT_TRUE(store.store().compact().ok());
  EXPECT_FALSE(std::filesystem::exists(store.path() + "/segments/000001.seg"));
  const auto after = (*index)->search(query, kD, 5, nullptr, pool);
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(*before == *after);
  // And what was compacted is the same but for the one.
  const auto anew = DenseIndex::create(store.snapshot(), pool);
  const auto all = (*anew)->search(query, kD, 2000, nullptr, pool);
  EXPECT_EQ((*all)[0].size(), 1499U);
}

/// 100,000 x 1,000 over clusters with the spread of sentence embeddings; takes minutes.
TEST(QuantisedScan, EqualsTheFloatScanOnAHundredThousandVectors) {
  if (std::getenv("CASEMATE_FULL_TESTS") == nullptr) GTEST_SKIP() << "set CASEMATE_FULL_TESTS=1 to run it";
  constexpr std::size_t kD = 384;
  constexpr std::size_t kCount = 100'000;
  constexpr std::size_t kQueries = 1000;
  RandomStream random(21, "clusters");
  const std::vector<float> centres = normal_values(500 * kD, 8);
  const auto near = [&](const float* centre, float spread, float* out) {
    for (std::size_t j = 0; j < kD; ++j) out[j] = centre[j] + spread * static_cast<float>(random.normal());
  };
  std::vector<float> values(kCount * kD);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double u = random.uniform();
    near(centres.data() + static_cast<std::size_t>(500 * u * u) * kD, 1.1F, values.data() + i * kD);
  }
  std::vector<float> queries(kQueries * kD);
  for (std::size_t q = 0; q < kQueries; ++q)
    near(values.data() + random.below(kCount) * kD, 0.8F, queries.data() + q * kD);
  make_unit(values, kD);
  make_unit(queries, kD);
  test::VectorStore store(kD, 1);
  for (std::size_t first = 0; first < kCount; first += 10'000)
    store.add(std::span(values).subspan(first * kD, 10'000 * kD));
  const ThreadPool pool(2);
  const auto codes = DenseIndex::create(store.snapshot(), pool);
  const auto floats = DenseIndex::create(store.snapshot(VectorAccess::kMemory), pool, DenseScan::kFloat);
  for (const int top_k : {5, 100}) {
    const auto found = (*codes)->search(queries, kD, top_k, nullptr, pool);
    const auto expected = (*floats)->search(queries, kD, top_k, nullptr, pool);
    ASSERT_TRUE(found.ok() && expected.ok());
    ASSERT_TRUE(*found == *expected);
  }
}

}  // namespace
}  // namespace casemate
