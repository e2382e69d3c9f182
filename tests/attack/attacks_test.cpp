#include "casemate/attack/attacks.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "small_corpus.h"

namespace casemate {
namespace {

std::unique_ptr<Attack> make(const std::string& text) {
  const auto choice = parse_attack(text);
  EXPECT_TRUE(choice.ok()) << choice.error().message;
  auto made = create_attack(*choice);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

std::string all_records(const Attack& attack, const AttackInput& input) {
  const auto crafted = attack.craft(input, {});
  EXPECT_TRUE(crafted.ok()) << crafted.error().message;
  std::string out;
  for (const CraftedDocument& document : crafted->documents) out += attack_record_json(attack, document) + "\n";
  return out;
}

TEST(Attacks, TheTableIsInOrderAndEachHasItsChapterAndOwaspIds) {
  std::ifstream file(std::string(CASEMATE_SOURCE_DIR) + "/docs/attacks.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string_view before;
  for (const AttackEntry& entry : attacks()) {
    EXPECT_LT(before, entry.name);
    before = entry.name;
    EXPECT_NE(page.str().find("## `" + std::string(entry.name) + "`"), std::string::npos) << entry.name;
    EXPECT_FALSE(entry.owasp_2025.empty());
    EXPECT_FALSE(entry.owasp_2026.empty());
    EXPECT_EQ(make(std::string(entry.name))->name(), entry.name);
  }
}

TEST(Attacks, MisspeltNamesAndOptionsNameTheNearestOne) {
  const auto name = parse_attack("near-duplicates");
  ASSERT_FALSE(name.ok());
  EXPECT_NE(name.error().message.find("did you mean \"near-duplicate\"?"), std::string::npos);
  const auto option = create_attack({"near-duplicate", "{rates: 0.1}"});
  ASSERT_FALSE(option.ok());
  EXPECT_NE(option.error().message.find("did you mean \"rate\"?"), std::string::npos) << option.error().message;
  EXPECT_FALSE(create_attack({"near-duplicate", "{rate: 1.5}"}).ok());
  EXPECT_FALSE(create_attack({"query-as-poison", "{place: top}"}).ok());
  EXPECT_FALSE(parse_attack("irrelevant{rate").ok());
  EXPECT_FALSE(parse_attack("irrelevant[1]").ok());
}

TEST(Attacks, OneSeedGivesOneResultAndAnotherSeedAnother) {
  const test::SmallCorpus corpus;
  for (const char* text : {"contradictory{rate: 0.5}", "irrelevant{rate: 0.5}", "near-duplicate{rate: 0.5, edits: 2}",
                           "query-as-poison"}) {
    const auto attack = make(text);
    EXPECT_EQ(all_records(*attack, corpus.input(1)), all_records(*attack, corpus.input(1))) << text;
    EXPECT_NE(all_records(*attack, corpus.input(1)), all_records(*attack, corpus.input(2))) << text;
  }
}

TEST(Attacks, ARecordSaysHowTheDocumentWasMade) {
  const test::SmallCorpus corpus;
  const auto attack = make("query-as-poison{repeat: 2}");
  const auto crafted = attack->craft(corpus.input(), {});
  ASSERT_TRUE(crafted.ok());
  const auto record = nlohmann::json::parse(attack_record_json(*attack, crafted->documents[0]));
  EXPECT_EQ(record.at("attack"), "query-as-poison");
  EXPECT_EQ(record.at("parameters").at("repeat"), "2");
  EXPECT_EQ(record.at("access"), "black box");
  EXPECT_EQ(record.at("atlas"), (nlohmann::json{"AML.T0070", "AML.T0066"}));
  EXPECT_EQ(record.at("target_queries"), nlohmann::json{"year0"});
  EXPECT_EQ(record.at("changed").size(), 1U);
}

TEST(Attacks, AnEmptyCorpusOrNoTargetGivesNoDocument) {
  const test::SmallCorpus corpus;
  for (const AttackEntry& entry : attacks()) {
    const auto attack = make(std::string(entry.name));
    if (attack->aims_at_each_query()) {
      EXPECT_TRUE(attack->craft({corpus.passages, {}, 1}, {})->documents.empty()) << entry.name;
    }
    if (!entry.needs_corpus) continue;
    const auto crafted = attack->craft({{}, corpus.targets, 1}, {});
    ASSERT_TRUE(crafted.ok()) << entry.name;
    EXPECT_TRUE(crafted->documents.empty()) << entry.name;
  }
}

TEST(Attacks, AnAttackOnTheQueriesAloneNeedsNoCorpus) {
  test::SmallCorpus corpus;
  for (AttackTarget& target : corpus.targets) target.wrong_texts = {UntrustedText("It is 1700.")};
  for (const char* name : {"pia", "poison"}) {
    ASSERT_FALSE((*find_attack(name))->needs_corpus);
    const auto crafted = make(name)->craft({{}, corpus.targets, 1}, {});
    ASSERT_TRUE(crafted.ok()) << crafted.error().message;
    EXPECT_EQ(crafted->documents.size(), corpus.targets.size()) << name;
  }
}

TEST(Attacks, CraftingStopsWhenAsked) {
  const test::SmallCorpus corpus;
  std::stop_source stop;
  stop.request_stop();
  for (const char* text :
       {"contradictory{rate: 1}", "irrelevant{rate: 1}", "near-duplicate{rate: 1}", "query-as-poison"})
    EXPECT_EQ(make(text)->craft(corpus.input(), stop.get_token()).error().code, ErrorCode::kCancelled) << text;
}

}  // namespace
}  // namespace casemate
