#include "casemate/defend/paraphrase.h"

#include "scan_fixture.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

class ParaphraseScan : public test::ScanFixture {
 protected:
  void SetUp() override {
    ScanFixture::SetUp();
    testing::ScriptedLlmOptions options;
    options.vocabulary = {" harbour", " boats", " stone"};
    options.answers = {{"ferry", " harbour boats"}, {"silent", ""}, {"", " stone"}};
    llm_ = *testing::ScriptedLlm::create(std::move(options));
    services_.model = llm_.get();
  }
  std::unique_ptr<testing::ScriptedLlm> llm_;
};

TEST_F(ParaphraseScan, FindsPassagesByWhatTheModelMadeOfThem) {
  const auto defence = Paraphrase::create({}, services_);
  ASSERT_TRUE(defence.ok()) << defence.error().message;
  add("a", "the ferry leaves", &(*defence)->recipe());
  add("b", "walls of granite", &(*defence)->recipe());
  EXPECT_EQ(found(**defence, query("harbour boats"), 1), std::vector<std::string>{"a"});
  EXPECT_EQ(found(**defence, query("stone"), 1), std::vector<std::string>{"b"});
}

TEST_F(ParaphraseScan, AModelThatWritesNothingLeavesThePassageFindableByItsOwnText) {
  const auto defence = Paraphrase::create({}, services_);
  add("a", "silent night", &(*defence)->recipe());
  add("b", "walls of granite", &(*defence)->recipe());
  EXPECT_EQ(found(**defence, query("silent night"), 1), std::vector<std::string>{"a"});
}

TEST_F(ParaphraseScan, ScansWithoutAModelButMakesNothingWithoutOne) {
  const auto maker = Paraphrase::create({}, services_);
  add("a", "the ferry leaves", &(*maker)->recipe());
  services_.model = nullptr;
  const auto defence = Paraphrase::create({}, services_);
  ASSERT_TRUE(defence.ok());
  EXPECT_EQ(found(**defence, query("harbour"), 1), std::vector<std::string>{"a"});
  const std::string_view text = "more";
  const auto rows = (*defence)->recipe().vectors(std::span(&text, 1), nullptr, {});
  ASSERT_FALSE(rows.ok());
  EXPECT_NE(rows.error().message.find("language model"), std::string::npos);
}

TEST_F(ParaphraseScan, PassagesThatWereNotParaphrasedAreAnError) {
  const auto defence = Paraphrase::create({}, services_);
  add("a", "the ferry leaves", nullptr);
  const auto outcome = (*defence)->scan(*store_, query("ferry"), 1, nullptr, pool_, {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("casemate prepare"), std::string::npos);
}

}  // namespace
}  // namespace casemate
