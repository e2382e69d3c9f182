#include "casemate/pipeline/policy.h"

#include <gtest/gtest.h>

#include <regex>

namespace casemate {
namespace {

TEST(Policies, EachHasADateAndIsFoundByItsPlainName) {
  const std::regex dated("[a-z][a-z-]*-20[0-9]{2}-[0-9]{2}");
  for (const Policy& policy : policies()) {
    EXPECT_TRUE(std::regex_match(policy.name, dated)) << policy.name;
    EXPECT_EQ(find_policy(policy.name)->name, policy.name);
    EXPECT_EQ(find_policy(policy.name.substr(0, policy.name.size() - 8))->name, policy.name);
  }
}

TEST(Policies, DefencesAreKnownAndOnlyTheFirstMayReplaceTheScan) {
  for (const Policy& policy : policies()) {
    for (std::size_t i = 0; i < policy.defences.size(); ++i) {
      const auto entry = find_defence(policy.defences[i].name);
      ASSERT_TRUE(entry.ok()) << policy.name;
      EXPECT_TRUE(i == 0 || !(*entry)->scans) << policy.name;
      EXPECT_TRUE(parse_defence(policy.defences[i].name + policy.defences[i].options).ok()) << policy.name;
    }
  }
  EXPECT_EQ(find_policy("fast")->defences.at(0).name, "ragpart");
  EXPECT_TRUE(find_policy("off")->defences.empty());
  for (const char* name : {"balanced", "strict"}) {
    EXPECT_EQ(find_policy(name)->defences.at(0).name, "ragpart");
    EXPECT_EQ(find_policy(name)->defences.at(1).name, "ragmask");
  }
}

TEST(Policies, OneThatDoesNotExistIsAnErrorThatListsTheOthers) {
  const auto unknown = find_policy("harsh");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("strict-2026-11"), std::string::npos);
  EXPECT_FALSE(find_policy("").ok());
  EXPECT_FALSE(find_policy("-2026-11").ok());
}

}  // namespace
}  // namespace casemate
