#include "casemate/defend/defences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

std::filesystem::path root() { return CASEMATE_SOURCE_DIR; }

TEST(Defences, EachRegisteredNameHasADocsPageAndATest) {
  for (const DefenceEntry& entry : defences()) {
    const std::string name(entry.name);
    EXPECT_TRUE(std::filesystem::exists(root() / "docs/defences" / (name + ".md"))) << name;
    EXPECT_TRUE(std::filesystem::exists(root() / "tests/defend" / (name + "_test.cpp"))) << name;
    EXPECT_EQ(entry.scans, entry.create_scan != nullptr) << name;
    EXPECT_TRUE(entry.create != nullptr || entry.create_scan != nullptr) << name;
    EXPECT_FALSE(entry.summary.empty()) << name;
  }
}

TEST(Defences, AreListedInTheOrderOfTheirNames) {
  EXPECT_TRUE(std::is_sorted(defences().begin(), defences().end(),
                             [](const DefenceEntry& a, const DefenceEntry& b) { return a.name < b.name; }));
}

TEST(Defences, AMisspeltNameOrOptionNamesTheNearestOne) {
  const auto name = parse_defence("supression");
  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, ErrorCode::kNotFound);
  EXPECT_NE(name.error().message.find("suppression"), std::string::npos);
  const auto option = create_defence({"suppression", "{max_cosin: 0.9}"}, {});
  ASSERT_FALSE(option.ok());
  EXPECT_EQ(option.error().code, ErrorCode::kInvalidOption);
  EXPECT_NE(option.error().message.find("max_cosine"), std::string::npos);
}

TEST(Defences, OptionsInBracesAreRead) {
  const auto choice = parse_defence("suppression{max_cosine: 0.5, pool_size: 7}");
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  const auto made = create_defence(*choice, {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ((*made)->parameters(), (Parameters{{"pool_size", "7"}, {"max_cosine", "0.5"}}));
  EXPECT_EQ((*made)->pool_size(3), 7);
  EXPECT_EQ((*made)->pool_size(30), 30);
}

TEST(Defences, RagMaskReadsWhichCandidatesToExamine) {
  const auto encoder = testing::make_hash_encoder();
  DefenceServices services;
  services.encoder = encoder.get();
  const auto made = create_defence({"ragmask", "{examine: reachable}"}, services);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Parameters parameters = (*made)->parameters();
  EXPECT_NE(
      std::find(parameters.begin(), parameters.end(), std::pair<std::string, std::string>{"examine", "reachable"}),
      parameters.end());
  const auto wrong = create_defence({"ragmask", "{examine: some}"}, services);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("ragmask.examine"), std::string::npos) << wrong.error().message;
}

TEST(Defences, MalformedOptionsAreRefused) {
  EXPECT_FALSE(parse_defence("suppression{max_cosine: 0.5").ok());
  EXPECT_FALSE(parse_defence("suppression[1]").ok());
  EXPECT_FALSE(parse_defence("").ok());
  EXPECT_FALSE(create_defence({"suppression", "{max_cosine: nonsense}"}, {}).ok());
}

TEST(Defences, WhatADefenceNeedsIsToldWhenItIsMissing) {
  const auto made = create_defence({"rerank", "{}"}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("language model"), std::string::npos);
  EXPECT_FALSE(create_defence({"rerank", "{by: cross-encoder}"}, {}).ok());
  EXPECT_FALSE(create_defence({"rerank", "{by: magic}"}, {}).ok());
  EXPECT_FALSE(create_scan_defence({"rerank", "{}"}, {}).ok());
}

}  // namespace
}  // namespace casemate
