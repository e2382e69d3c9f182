#include "casemate/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace casemate {
namespace {

// Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(Philox, MatchesThePublishedVectors) {
  struct Case {
    std::uint32_t counter[4], key[2], expected[4];
  };
  const Case cases[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                         {0xffffffff, 0xffffffff},
                         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         {0xa4093822, 0x299f31d0},
                         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Case& c : cases) {
    std::uint32_t out[4];
    philox4x32_10(c.counter, c.key, out);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], c.expected[i]);
  }
}

TEST(RandomStream, SameSeedAndNameGiveTheSameDrawsAndOthersDoNot) {
  RandomStream a(1, "x"), b(1, "x"), other_name(1, "y"), other_seed(2, "x");
  const std::uint64_t first = a.next_u64();
  EXPECT_EQ(first, b.next_u64());
  EXPECT_NE(first, other_name.next_u64());
  EXPECT_NE(first, other_seed.next_u64());
}

TEST(RandomStream, BelowStaysBelowAndReachesEveryValue) {
  RandomStream stream(3, "below");
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts.at(stream.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(RandomStream, NormalHasMeanZeroAndVarianceOne) {
  RandomStream stream(4, "normal");
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double draw = stream.normal();
    sum += draw;
    squares += draw * draw;
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
}

}  // namespace
}  // namespace casemate
