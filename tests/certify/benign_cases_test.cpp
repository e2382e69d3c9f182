#include "casemate/certify/benign_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace casemate {
namespace {

using Groups = std::vector<std::vector<std::uint32_t>>;

/// By permuting markers of every position: what the definition says, without any counting.
std::set<Groups> enumerate(std::uint32_t k, std::uint32_t omega, std::uint32_t malicious, PassageThreat threat) {
  std::vector<int> removed(k, 0);
  std::fill(removed.end() - malicious, removed.end(), 1);
  std::set<Groups> out;
  do {
    std::vector<std::uint32_t> clean;
    for (std::uint32_t i = 0; i < k; ++i) {
      if (removed[i] == 0) clean.push_back(i);
    }
    std::vector<int> placed(k, 0);
    std::fill(placed.end() - malicious, placed.end(), 1);
    do {
      Groups groups;
      auto next = clean.begin();
      std::vector<std::uint32_t> group;
      bool bad = false;
      for (std::uint32_t i = 0; i < k; ++i) {
        bad = bad || placed[i] == 1;
        if (placed[i] == 0) group.push_back(*next++);
        if ((i + 1) % omega == 0 || i + 1 == k) {
          if (!bad) groups.push_back(group);
          group.clear();
          bad = false;
        }
      }
      out.insert(groups);
    } while (std::next_permutation(placed.begin(), placed.end()));
  } while (threat == PassageThreat::kModification && std::next_permutation(removed.begin(), removed.end()));
  return out;
}

TEST(BenignCases, AreAllThatPlacingEveryPassageGives) {
  for (std::uint32_t k = 1; k <= 6; ++k) {
    for (std::uint32_t omega = 1; omega <= 4; ++omega) {
      for (std::uint32_t malicious = 0; malicious <= k; ++malicious) {
        for (const PassageThreat threat : {PassageThreat::kInjection, PassageThreat::kModification}) {
          const auto found = benign_cases(k, omega, malicious, threat);
          ASSERT_TRUE(found.ok());
          std::set<Groups> groups;
          for (const BenignCase& one : *found) {
            groups.insert(one.groups);
            EXPECT_EQ(one.corrupted_groups + static_cast<std::int64_t>(one.groups.size()), group_count(k, omega));
          }
          EXPECT_EQ(groups, enumerate(k, omega, malicious, threat)) << k << ' ' << omega << ' ' << malicious;
          EXPECT_EQ(groups.size(), found->size());
        }
      }
    }
  }
}

TEST(BenignCases, OfInjectionInGroupsOfOneAreTheFirstPassages) {
  const auto found = benign_cases(10, 1, 2, PassageThreat::kInjection);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().groups, (Groups{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}));
  EXPECT_EQ(found->front().corrupted_groups, 2);
}

TEST(BenignCases, RefuseNonsenseAndTooManyPlacements) {
  EXPECT_FALSE(benign_cases(0, 1, 0, PassageThreat::kInjection).ok());
  EXPECT_FALSE(benign_cases(3, 0, 1, PassageThreat::kInjection).ok());
  EXPECT_FALSE(benign_cases(3, 1, 4, PassageThreat::kInjection).ok());
  EXPECT_FALSE(benign_cases(3, 1, -1, PassageThreat::kInjection).ok());
  EXPECT_EQ(benign_cases(60, 2, 20, PassageThreat::kInjection).error().code, ErrorCode::kLimit);
  EXPECT_EQ(benign_cases(65, 1, 1, PassageThreat::kInjection).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(benign_cases(64, 64, 64, PassageThreat::kModification).ok());
}

}  // namespace
}  // namespace casemate
