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

TEST(Policies, OneThatDoesNotExistYetIsAnHonestError) {
  const auto strict = find_policy("strict");
  ASSERT_FALSE(strict.ok());
  EXPECT_NE(strict.error().message.find("no retrieval defences yet"), std::string::npos);
  EXPECT_FALSE(find_policy("").ok());
  EXPECT_FALSE(find_policy("-2026-11").ok());
}

}  // namespace
}  // namespace casemate
