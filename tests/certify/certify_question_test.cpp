#include "casemate/certify/certify_question.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "certify/parrot.h"

namespace casemate {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

const Texts kStock = {"red", "green", "blue", "none"};

/// All orders of `clean` (kept in order) and `malicious` passages of the stock among them.
void insert(const Texts& clean, std::size_t malicious, Texts partial, std::size_t used, std::vector<Texts>& out) {
  if (used == clean.size() && malicious == 0) {
    out.push_back(std::move(partial));
    return;
  }
  for (const std::string& text : kStock) {
    if (malicious == 0) break;
    Texts next = partial;
    next.push_back(text);
    insert(clean, malicious - 1, std::move(next), used, out);
  }
  if (used == clean.size()) return;
  partial.push_back(clean[used]);
  insert(clean, malicious, std::move(partial), used + 1, out);
}

/// Every ranking that an attacker of `threat` can bring about with passages of the stock.
std::vector<Texts> attacks(const Texts& clean, std::size_t malicious, PassageThreat threat) {
  std::vector<Texts> out;
  std::vector<bool> removed(clean.size(), false);
  std::fill(removed.end() - static_cast<std::ptrdiff_t>(malicious), removed.end(), true);
  do {
    Texts kept;
    for (std::size_t i = 0; i < clean.size(); ++i) {
      if (!removed[i]) kept.push_back(clean[i]);
    }
    insert(kept, malicious, {}, 0, out);
  } while (threat == PassageThreat::kModification && std::next_permutation(removed.begin(), removed.end()));
  return out;
}

struct Setting {
  Aggregation method;
  PassageThreat threat;
  int group_size;
};

class CertifyQuestion : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(All, CertifyQuestion,
                         ::testing::Values(Setting{Aggregation::kVoting, PassageThreat::kInjection, 1},
                                           Setting{Aggregation::kVoting, PassageThreat::kModification, 1},
                                           Setting{Aggregation::kVoting, PassageThreat::kInjection, 2},
                                           Setting{Aggregation::kKeyword, PassageThreat::kInjection, 1},
                                           Setting{Aggregation::kKeyword, PassageThreat::kModification, 1},
                                           Setting{Aggregation::kDecoding, PassageThreat::kInjection, 1},
                                           Setting{Aggregation::kDecoding, PassageThreat::kModification, 1},
                                           Setting{Aggregation::kDecoding, PassageThreat::kInjection, 2}),
                         [](const auto& each) {
                           return std::string(aggregation_name(each.param.method)) + "_" +
                                  std::string(threat_name(each.param.threat)) + "_" +
                                  std::to_string(each.param.group_size);
                         });

TEST_P(CertifyQuestion, NoRankingThatTheAttackerCanBringAboutScoresLessThanTau) {
  const auto [method, threat, group_size] = GetParam();
  const auto model = test::parrot();
  const Question question = test::colour(method);
  RobustOptions options = test::options_of(method, question);
  options.group_size = group_size;
  options.trace = false;
  // Red is right, green is half right.
  const ScoreAnswer score = [&](const UntrustedText& answer) -> Result<double> {
    const std::string& text = answer.bytes();
    if (text == "red" || text == "A") return 1.0;
    return text == "green" || text == "B" ? 0.5 : 0.0;
  };
  std::mt19937 random(11);
  int certified = 0;
  int beaten = 0;
  for (int round = 0; round < 12; ++round) {
    Texts clean;
    for (int i = 0; i < 6; ++i) clean.push_back(kStock[random() % 10 < 8 ? round % 2 : random() % 4]);
    CertifyQuestionOptions certify;
    certify.malicious = 1;
    certify.threat = threat;
    const auto outcome = certify_question(*model, question, test::passages_of(clean), options, certify, score);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->reason.empty(), outcome->certified);
    EXPECT_TRUE(outcome->certified || outcome->tau == 0);
    certified += outcome->certified ? 1 : 0;
    double worst = 1;
    for (const Texts& attacked : attacks(clean, 1, threat)) {
      ASSERT_EQ(attacked.size(), clean.size());
      const auto answer = answer_robustly(*model, question, test::passages_of(attacked), options);
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      worst = std::min(worst, score(answer->text).value());
    }
    EXPECT_GE(worst, outcome->tau);
    beaten += outcome->certified && worst == outcome->tau ? 1 : 0;
  }
  EXPECT_GT(certified, 0) << "nothing was certified, so nothing was tested";
  EXPECT_GT(beaten, 0) << "tau was never reached";
}

TEST(CertifyQuestionInput, WithoutAnyBenignGroupNothingIsCertified) {
  const auto model = test::parrot();
  const Question question = test::colour(Aggregation::kVoting);
  const RobustOptions options = test::options_of(Aggregation::kVoting, question);
  const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
  CertifyQuestionOptions certify;
  certify.malicious = 2;
  const auto outcome = certify_question(*model, question, test::passages_of({"red", "red"}), options, certify, score);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_FALSE(outcome->certified);
  EXPECT_THAT(outcome->reason, HasSubstr("no group"));
  certify.malicious = 3;
  EXPECT_EQ(certify_question(*model, question, test::passages_of({"red", "red"}), options, certify, score).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(certify_question(*model, question, {}, options, certify, score).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace casemate
