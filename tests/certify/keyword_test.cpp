#include "casemate/certify/keyword.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "casemate/certify/normal_form.h"
#include "certify/samples.h"
#include "support/paths.h"

namespace casemate {
namespace {

using Words = std::vector<std::string>;

nlohmann::json golden() {
  std::ifstream file(test::golden_path("cert_keyword.json"));
  return nlohmann::json::parse(file);
}

KeywordThreshold rule_of(const nlohmann::json& one) {
  const auto beta = one["beta"].is_string() ? Decimal::parse(one["beta"].get<std::string>())
                                            : Decimal::from(one["beta"].get<double>());
  return *KeywordThreshold::create(*Decimal::parse(one["alpha"].get<std::string>()), *beta);
}

TEST(KeywordCertificate, OfADataSetReachesExactlyTheGoldenSets) {
  const auto file = golden();
  ASSERT_EQ(file["cases"].size(), 150U);
  for (const auto& one : file["cases"]) {
    const KeywordThreshold rule = rule_of(one);
    for (const auto& [answering, threshold] : one["thresholds"].items()) {
      EXPECT_EQ(rule.least_count(std::stoll(answering)), threshold.get<std::int64_t>()) << one;
    }
    const KeywordCase benign{one["benign_keywords"].get<std::vector<Words>>(), one["m_prime"]};
    const auto reach = keyword_reach(benign, rule);
    ASSERT_TRUE(reach.ok());
    EXPECT_EQ(reach->no_retrieval, one["no_retrieval_reachable"].get<bool>()) << one;
    if (reach->no_retrieval) continue;  // not certified, whatever else is true
    EXPECT_EQ(reach->attacker_words, one["new_word_can_pass"].get<bool>()) << one;

    std::set<Words> sets;
    const AnswerFromHints answer = [&](std::span<const std::string> hints) -> Result<HintedAnswer> {
      sets.insert(Words(hints.begin(), hints.end()));
      return HintedAnswer{};
    };
    const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
    const auto outcome = certify_keyword_case(benign, {rule, 0, 1 << 14}, answer, score);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->certified, !reach->attacker_words) << one;
    if (!outcome->certified) continue;
    const auto expected = one["reachable_kept_benign"].get<std::set<Words>>();
    EXPECT_EQ(sets, expected) << one;
    EXPECT_EQ(outcome->model_calls, static_cast<std::int64_t>(expected.size()));
  }
}

struct LiveCase {
  std::vector<KeywordGroup> groups;
  HintSet emitted;
};

/// Nothing where no group answers.
std::optional<LiveCase> live_case(const nlohmann::json& one) {
  if (one["kept"].is_null()) return std::nullopt;
  LiveCase out;
  for (const auto& words : one["groups"]) {
    KeywordGroup group{UntrustedText("x"), std::nullopt, kOne};
    if (!words.is_null()) group.keywords = words.get<Words>();
    out.groups.push_back(group);
  }
  out.emitted = {one["kept"].get<Words>(), UntrustedText("yes"), kOne};
  return out;
}

TEST(KeywordCertificate, OfALiveAnswerEqualsEveryGoldenCase) {
  const auto file = golden();
  ASSERT_EQ(file["live_cases"].size(), 80U);
  for (const auto& one : file["live_cases"]) {
    const auto live = live_case(one);
    if (!live) {
      EXPECT_EQ(one["largest_k_prime"], 0);
      continue;
    }
    const KeywordThreshold rule = rule_of(one);
    EXPECT_EQ(kept_keywords(live->groups, rule), live->emitted.keywords);
    const LiveSetting setting{one["k"], one["omega"], 0};
    const auto found = certify_keyword(live->groups, live->emitted, {rule, 0, 64}, setting);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(found->live.k_prime, one["largest_k_prime"].get<std::int64_t>()) << one;
    EXPECT_EQ(found->model_calls, 0);
  }
}

TEST(KeywordCertificate, IsVerifiedForEveryGoldenCaseUpToItsLargestAndNoFurther) {
  const auto file = golden();
  for (const auto& one : file["live_cases"]) {
    const auto live = live_case(one);
    if (!live) continue;
    Certificate certificate = test::frame(one["k"], one["omega"], 0);
    certificate.answer = live->emitted.answer;
    KeywordEvidence evidence;
    evidence.alpha = rule_of(one).alpha.text();
    evidence.beta = rule_of(one).beta.text();
    evidence.groups = live->groups;
    std::map<std::string, std::int64_t> counts;
    for (const KeywordGroup& group : live->groups) {
      if (!group.keywords) continue;
      for (const std::string& word : *group.keywords) ++counts[word];
    }
    evidence.counts.assign(counts.begin(), counts.end());
    evidence.kept = live->emitted.keywords;
    evidence.hint_sets = {live->emitted};
    certificate.evidence = evidence;
    const std::int64_t largest = one["largest_k_prime"];
    for (std::int64_t k_prime = 1; k_prime <= one["k"]; ++k_prime) {
      ASSERT_EQ(test::claim_holds(certificate, k_prime), k_prime <= largest) << k_prime << ' ' << one;
    }
  }
}

KeywordThreshold usual_rule() { return *KeywordThreshold::create(*Decimal::parse("0.3"), *Decimal::parse("3")); }

TEST(KeywordCertificate, StopsAtItsBudgetAndSaysSo) {
  KeywordCase benign;
  for (int g = 0; g < 9; ++g) benign.answering.push_back({});
  for (int word = 0; word < 8; ++word) {
    for (int g = 0; g < 2; ++g)
      benign.answering[static_cast<std::size_t>(g)].push_back(std::string(1, static_cast<char>('a' + word)));
  }
  benign.corrupted_groups = 1;  // eight words with two of the three counts they need
  int calls = 0;
  const AnswerFromHints answer = [&](std::span<const std::string>) -> Result<HintedAnswer> {
    ++calls;
    return HintedAnswer{};
  };
  const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
  auto outcome = certify_keyword_case(benign, {usual_rule(), 0, 255}, answer, score);
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->certified);
  EXPECT_NE(outcome->reason.find("budget of 255"), std::string::npos) << outcome->reason;
  EXPECT_EQ(calls, 0);
  outcome = certify_keyword_case(benign, {usual_rule(), 0, 256}, answer, score);
  EXPECT_TRUE(outcome->certified);
  EXPECT_EQ(calls, 256);
}

TEST(KeywordCertificate, NeedsStableSecondPrompts) {
  const KeywordCase benign{std::vector<Words>(5, Words{"ash"}), 1};
  const AnswerFromHints answer = [](std::span<const std::string>) -> Result<HintedAnswer> {
    return HintedAnswer{UntrustedText("x"), 2'000'000};
  };
  const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
  EXPECT_TRUE(certify_keyword_case(benign, {usual_rule(), 999'999, 64}, answer, score)->certified);
  EXPECT_FALSE(certify_keyword_case(benign, {usual_rule(), 1'000'000, 64}, answer, score)->certified);

  const std::vector<KeywordGroup> groups(6, KeywordGroup{UntrustedText("x"), Words{"ash"}, kOne});
  const HintSet emitted{{"ash"}, UntrustedText("x"), 2'000'000};
  EXPECT_GT(certify_keyword(groups, emitted, {usual_rule()}, {6, 1, 999'999})->live.k_prime, 0);
  EXPECT_EQ(certify_keyword(groups, emitted, {usual_rule()}, {6, 1, 1'000'000})->live.k_prime, 0);
}

TEST(KeywordCertificate, OfManyLongAnswersEndsWhereItWasLookedAtAndSaysSo) {
  // 64 groups of 300 words, all alike. One passage is quickly looked at, two are 2,016 choices of 19,200 words.
  Words words;
  for (int i = 0; i < 300; ++i) words.push_back("word" + std::to_string(1000 + i));
  const std::vector<KeywordGroup> groups(64, KeywordGroup{UntrustedText("x"), words, kOne});
  const HintSet emitted{words, UntrustedText("x"), kOne};
  const auto many = certify_keyword(groups, emitted, {usual_rule(), 0}, {64, 1, 0});
  ASSERT_TRUE(many.ok()) << many.error().message;
  EXPECT_EQ(many->live.k_prime, 1);
  EXPECT_NE(many->live.limited_by.find("too many choices"), std::string::npos) << many->live.limited_by;
  // The same answers of fewer groups stop where the rule does: three of ten words from the attacker are hints.
  const std::vector<KeywordGroup> few(10, groups[0]);
  const auto exact = certify_keyword(few, emitted, {usual_rule(), 0}, {10, 1, 0});
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(exact->live.k_prime, 2);
  EXPECT_NE(exact->live.limited_by.find("attacker alone"), std::string::npos) << exact->live.limited_by;
}

TEST(NormalForm, ForgetsCasePunctuationAndArticlesButNoPartOfANumber) {
  EXPECT_EQ(certify::normal_form("  The\tMount-Everest. "), "mounteverest");
  EXPECT_EQ(certify::normal_form("an A the"), "");
  EXPECT_EQ(certify::normal_form("3.5"), "3.5");
  EXPECT_NE(certify::normal_form("3.5"), certify::normal_form("35"));
  EXPECT_NE(certify::normal_form("-5"), certify::normal_form("5"));
  EXPECT_NE(certify::normal_form("5%"), certify::normal_form("5"));
  EXPECT_NE(certify::normal_form("1,5"), certify::normal_form("1.5"));
  EXPECT_EQ(certify::normal_form("It was 1911."), certify::normal_form("it was 1911"));
}

TEST(KeywordCertificate, HasNoPlaceForNonsense) {
  EXPECT_FALSE(KeywordThreshold::create(*Decimal::parse("0"), *Decimal::parse("3")).ok());
  EXPECT_FALSE(KeywordThreshold::create(*Decimal::parse("1.1"), *Decimal::parse("3")).ok());
  EXPECT_FALSE(KeywordThreshold::create(*Decimal::parse("0.3"), *Decimal::parse("0.9")).ok());
  EXPECT_FALSE(keyword_reach({{}, -1}, usual_rule()).ok());
  EXPECT_TRUE(keyword_reach({{}, 0}, usual_rule())->no_retrieval);  // all abstain
  EXPECT_TRUE(keyword_reach({{}, 3}, usual_rule())->no_retrieval);
  std::vector<KeywordGroup> groups(3);
  const HintSet emitted{{}, UntrustedText("x"), kOne};
  EXPECT_EQ(certify_keyword(groups, emitted, {usual_rule()}, {3, 1, 0})->live.k_prime, 0);  // all abstain
  EXPECT_FALSE(certify_keyword(groups, emitted, {usual_rule()}, {4, 1, 0}).ok());
  EXPECT_FALSE(certify_keyword({}, emitted, {usual_rule()}, {0, 1, 0}).ok());
  groups[0].keywords = Words{"b", "a"};
  EXPECT_FALSE(certify_keyword(groups, emitted, {usual_rule()}, {3, 1, 0}).ok());
  EXPECT_FALSE(certify_keyword(std::vector<KeywordGroup>(65), emitted, {usual_rule()}, {65, 1, 0}).ok());
}

}  // namespace
}  // namespace casemate
