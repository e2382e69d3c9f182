#include "casemate/defend/ragpart.h"

#include "scan_fixture.h"

namespace casemate {
namespace {

class RagPartScan : public test::ScanFixture {
 protected:
  std::unique_ptr<RagPart> make(const RagPartOptions& options = {}) {
    auto made = RagPart::create(options, services_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }
};

constexpr char kQuery[] = "ferry noon pier";

// The poison says the query in one place only; the honest passage is about it throughout.
TEST_F(RagPartScan, APoisonInOneFragmentIsOutvotedThoughItRanksFirstUndefended) {
  const auto ragpart = make();
  add("honest", "ferry noon pier ferry pier noon noon ferry pier pier", &ragpart->recipe());
  add("poison", "ferry noon gold silver wood iron clay sand salt glass", &ragpart->recipe());
  add("other", "alpha beta gamma delta epsilon zeta eta theta iota kappa", &ragpart->recipe());
  const auto names = found(*ragpart, query(kQuery), 1);
  EXPECT_EQ(names, std::vector<std::string>{"honest"});
}

TEST_F(RagPartScan, TellsVotesListsAndFragmentScores) {
  const auto ragpart = make();
  add("a", "ferry noon pier one two three four five six seven", &ragpart->recipe());
  const auto outcome = ragpart->scan(*store_, query(kQuery), 3, nullptr, pool_, {});
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_EQ(outcome->verdicts.size(), 1U);
  const auto& measures = outcome->verdicts[0].measures;
  ASSERT_EQ(measures.size(), 3U + 5U);
  EXPECT_EQ(measures[0], (std::pair<std::string, double>{"votes", 10}));  // C(5, 3), alone in the store
  EXPECT_EQ(measures[1], (std::pair<std::string, double>{"lists", 10}));
}

TEST_F(RagPartScan, PassagesWithoutFragmentsAreAnErrorThatNamesTheCommand) {
  const auto ragpart = make();
  add("with", "one two three four five six", &ragpart->recipe());
  add("without", "seven eight nine ten eleven twelve", nullptr);
  const auto outcome = ragpart->scan(*store_, query(kQuery), 3, nullptr, pool_, {});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(outcome.error().message.find("casemate prepare"), std::string::npos);
}

TEST_F(RagPartScan, SeesDocumentsThatWereAddedAfterItsFirstSearch) {
  const auto ragpart = make();
  add("a", "one two three four five six", &ragpart->recipe());
  EXPECT_EQ(found(*ragpart, query(kQuery), 1), std::vector<std::string>{"a"});
  add("b", "ferry noon pier ferry noon pier", &ragpart->recipe());
  EXPECT_EQ(found(*ragpart, query(kQuery), 1), std::vector<std::string>{"b"});
}

TEST_F(RagPartScan, FiltersApplyBeforeTheVote) {
  const auto ragpart = make();
  add("open", "one two three four five six", &ragpart->recipe(), {"open"});
  add("secret", "ferry noon pier ferry noon pier", &ragpart->recipe(), {"secret"});
  DocumentFilter filter;
  filter.any_of = {"open"};
  const auto allowed = store_->select("default", filter);
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(found(*ragpart, query(kQuery), 5, allowed->get()), std::vector<std::string>{"open"});
}

TEST_F(RagPartScan, AnEmptyTenantFindsNothingAndShortPassagesAreFound) {
  const auto ragpart = make();
  EXPECT_TRUE(found(*ragpart, query(kQuery), 5).empty());
  add("short", "ferry", &ragpart->recipe());
  add("blank", " ", &ragpart->recipe());
  EXPECT_EQ(found(*ragpart, query(kQuery), 5).size(), 2U);
}

TEST_F(RagPartScan, RefusesOptionsOutsideTheirRanges) {
  RagPartOptions options;
  options.combination = 6;
  EXPECT_FALSE(RagPart::create(options, services_).ok());
  options = {};
  options.fragments = 21;
  EXPECT_FALSE(RagPart::create(options, services_).ok());
  EXPECT_FALSE(RagPart::create({}, {}).ok());
}

}  // namespace
}  // namespace casemate
