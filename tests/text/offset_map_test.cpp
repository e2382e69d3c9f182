#include "casemate/text/offset_map.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "casemate/core/random.h"

namespace casemate {
namespace {

TEST(OffsetMap, IdentityMapsEachSpanToItself) {
  const OffsetMap map = OffsetMap::identity(10);
  EXPECT_EQ(map.to_source({3, 7}), (ByteSpan{3, 7}));
  EXPECT_EQ(map.to_text({3, 7}), (ByteSpan{3, 7}));
  EXPECT_EQ(map.to_source({4, 4}), (ByteSpan{4, 4}));
  EXPECT_EQ(map.pieces().size(), 1U);
}

TEST(OffsetMap, AnEntityCorrespondsAsAWholeAndItsNeighboursByteByByte) {
  // source a&amp;b -> text a&b
  OffsetMap map;
  map.append(1, {0, 1});
  map.append(1, {1, 6});
  map.append(1, {6, 7});
  EXPECT_EQ(map.to_source({0, 1}), (ByteSpan{0, 1}));
  EXPECT_EQ(map.to_source({1, 2}), (ByteSpan{1, 6}));
  EXPECT_EQ(map.to_source({2, 3}), (ByteSpan{6, 7}));
  EXPECT_EQ(map.to_text({3, 4}), (ByteSpan{1, 2}));
  EXPECT_EQ(map.to_text({0, 7}), (ByteSpan{0, 3}));
}

TEST(OffsetMap, WhatWasLeftOutHasAnEmptyPlaceInTheText) {
  OffsetMap map;
  map.append(3, {0, 3});
  map.append(3, {8, 11});
  EXPECT_EQ(map.to_text({4, 6}), (ByteSpan{3, 3}));
  EXPECT_EQ(map.to_source({2, 4}), (ByteSpan{2, 9}));
  EXPECT_EQ(map.to_text({20, 21}), (ByteSpan{6, 6}));
}

TEST(OffsetMap, SourcesThatDoNotAscendAreFoundToo) {
  OffsetMap map;
  map.append(2, {10, 12});
  map.append(2, {0, 2});
  map.append(2, {20, 22});
  EXPECT_EQ(map.to_text({0, 2}), (ByteSpan{2, 4}));
  EXPECT_EQ(map.to_source({0, 6}), (ByteSpan{0, 22}));
}

TEST(OffsetMap, AnEmptyMapAnswersWithNothing) {
  const OffsetMap map;
  EXPECT_EQ(map.to_source({0, 5}), (ByteSpan{0, 0}));
  EXPECT_EQ(map.to_text({0, 5}), (ByteSpan{0, 0}));
  EXPECT_EQ(map.after(OffsetMap::identity(3)).text_size(), 0U);
}

/// A random map that drops, copies and puts in, with the source byte of each text byte (or -1) beside it.
struct Random {
  OffsetMap map;
  std::vector<long> origin;
};

Random random_map(RandomStream& random, std::size_t source_size) {
  Random out;
  std::size_t at = 0;
  while (at < source_size) {
    const std::size_t length = std::min<std::size_t>(1 + random.below(5), source_size - at);
    switch (random.below(3)) {
      case 0:
        break;
      case 1:
        out.map.append(length, {at, at + length});
        for (std::size_t i = 0; i < length; ++i) out.origin.push_back(static_cast<long>(at + i));
        break;
      default:
        out.map.append(2, {at, at});
        out.origin.insert(out.origin.end(), 2, -1);
        continue;
    }
    at += length;
  }
  return out;
}

TEST(OffsetMap, ComposedMapsAreExactForEveryByteThatBothKept) {
  RandomStream random(7, "offset_map");
  for (int round = 0; round < 300; ++round) {
    const Random first = random_map(random, 1 + random.below(60));
    if (first.origin.empty()) continue;
    const Random second = random_map(random, first.origin.size());
    const OffsetMap both = second.map.after(first.map);
    ASSERT_EQ(both.text_size(), second.origin.size());
    for (std::size_t i = 0; i < second.origin.size(); ++i) {
      if (second.origin[i] < 0) continue;
      const long source = first.origin[static_cast<std::size_t>(second.origin[i])];
      if (source < 0) continue;
      const auto at = static_cast<std::size_t>(source);
      ASSERT_EQ(both.to_source({i, i + 1}), (ByteSpan{at, at + 1}));
      ASSERT_EQ(both.to_text({at, at + 1}), (ByteSpan{i, i + 1}));
    }
  }
}

}  // namespace
}  // namespace casemate
