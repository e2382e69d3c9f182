// Certification that may look at thousands of sets, prefixes or choices ends within one call of the model once it is
// asked to stop.
#include <gmock/gmock.h>

#include <cmath>

#include "casemate/certify/benign_cases.h"
#include "casemate/certify/certify_answer.h"
#include "casemate/certify/certify_question.h"
#include "casemate/certify/decoding.h"
#include "casemate/certify/keyword.h"
#include "certify/parrot.h"

namespace casemate {
namespace {

using Words = std::vector<std::string>;

KeywordThreshold usual_rule() { return *KeywordThreshold::create(*Decimal::parse("0.3"), *Decimal::parse("3")); }

/// Counts calls and asks to stop in the one numbered `last`.
struct Stopper {
  int last = 0;
  int calls = 0;
  std::stop_source source{};
  void called() {
    if (++calls == last) source.request_stop();
  }
};

/// Eight words that only the first two of nine groups say.
std::vector<Words> nine_groups() {
  std::vector<Words> out(9, Words{"ash"});
  for (int word = 0; word < 8; ++word) {
    for (std::size_t g = 0; g < 2; ++g) out[g].push_back("w" + std::to_string(word));
  }
  return out;
}

TEST(StoppingCertification, OfOneKeywordCaseAsksNoFurtherSetOfHints) {
  Stopper stopper{3};
  const AnswerFromHints answer = [&](std::span<const std::string>) -> Result<HintedAnswer> {
    stopper.called();
    return HintedAnswer{UntrustedText("x"), kOne};
  };
  const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
  const auto outcome =
      certify_keyword_case({nine_groups(), 1}, {usual_rule(), 0, 256}, answer, score, stopper.source.get_token());
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stopper.calls, 3);
}

TEST(StoppingCertification, OfALiveKeywordAnswerAsksNoFurtherSetOfHints) {
  Stopper stopper{3};
  const AnswerFromHints answer = [&](std::span<const std::string>) -> Result<HintedAnswer> {
    stopper.called();
    return HintedAnswer{UntrustedText("x"), kOne};
  };
  std::vector<KeywordGroup> groups;
  for (const Words& words : nine_groups()) groups.push_back({UntrustedText("x"), words, kOne});
  const HintSet emitted{{"ash"}, UntrustedText("x"), kOne};
  const auto whole = certify_keyword(groups, emitted, {usual_rule(), 0, 16384}, {9, 1, 0}, answer);
  ASSERT_TRUE(whole.ok());
  ASSERT_GT(whole->model_calls, 10);
  stopper = Stopper{3};
  const auto outcome =
      certify_keyword(groups, emitted, {usual_rule(), 0, 16384}, {9, 1, 0}, answer, stopper.source.get_token());
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stopper.calls, 3);
}

TEST(StoppingCertification, OfOneDecodingCaseLooksAtNoFurtherPrefix) {
  Stopper stopper{4};
  DecodingModel model;
  // Two groups of two minds: every answer of ten tokens 1 and 2 can come about.
  model.groups = [&](std::span<const std::int32_t>) -> Result<std::vector<SparseProbabilities>> {
    stopper.called();
    return std::vector<SparseProbabilities>{{{{1, kOne}}, 0}, {{{2, kOne}}, 0}};
  };
  model.no_retrieval = [](std::span<const std::int32_t>) -> Result<std::vector<std::int32_t>> {
    return std::vector<std::int32_t>{1};
  };
  model.is_end = [](std::int32_t) { return false; };
  model.score = [](std::span<const std::int32_t>) -> Result<double> { return 1.0; };
  const DecodingCaseOptions options{{0, 0, 10}, 1, 10, 1'000'000};
  const auto outcome = certify_decoding_case(model, options, stopper.source.get_token());
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(stopper.calls, 4);
  stopper = Stopper{};
  ASSERT_TRUE(certify_decoding_case(model, options)->certified);
  EXPECT_EQ(stopper.calls, (1 << 10) - 1);
}

TEST(StoppingCertification, IsSeenByWhatAsksNoModel) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(benign_cases(16, 3, 2, PassageThreat::kModification, stop.get_token()).error().code, ErrorCode::kCancelled);
  DecodingEvidence evidence;
  evidence.max_new_tokens = 1;
  DecodingStep step;
  step.token = 1;
  for (int g = 0; g < 5; ++g) {
    evidence.groups.push_back({0});
    step.groups.push_back(SparseProbabilities{{{1, kOne}}, 0});
  }
  evidence.steps = {step};
  EXPECT_EQ(certify_decoding(evidence, 10, {5, 1, 0}, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(certify_decoding(evidence, 10, {5, 1, 0}).ok());
}

/// The parrot, which asks to stop in its n-th prediction.
class Stopped : public ::testing::TestWithParam<Aggregation> {
 protected:
  Stopped() {
    testing::ScriptedLlmOptions options;
    options.vocabulary = {"red", "green", "blue", "A", "B", "C", "I don't know"};
    options.distribution = [this](std::span<const TokenId> tokens, std::string_view) {
      stopper_.called();
      std::vector<double> out;
      const auto values = parrot_->next_token_log_probabilities(tokens);
      for (const float value : *values) out.push_back(std::exp(double{value}));
      return out;
    };
    model_ = *testing::ScriptedLlm::create(std::move(options));
  }
  Result<CaseOutcome> certify(int stop_in) {
    stopper_ = Stopper{stop_in};
    const Question question = test::colour(GetParam());
    RobustOptions options = test::options_of(GetParam(), question);
    options.trace = false;
    CertifyQuestionOptions certify;
    certify.threat = PassageThreat::kModification;
    const ScoreAnswer score = [](const UntrustedText&) -> Result<double> { return 1.0; };
    return certify_question(*model_, question, test::passages_of({"red", "red", "green", "red", "green", "green"}),
                            options, certify, score, stopper_.source.get_token());
  }

  Stopper stopper_;
  std::unique_ptr<testing::ScriptedLlm> parrot_ = test::parrot();
  std::unique_ptr<testing::ScriptedLlm> model_;
};
INSTANTIATE_TEST_SUITE_P(Methods, Stopped,
                         ::testing::Values(Aggregation::kVoting, Aggregation::kKeyword, Aggregation::kDecoding),
                         [](const auto& each) { return std::string(aggregation_name(each.param)); });

TEST_P(Stopped, CertificationOfAQuestionEndsWithinOneCallOfTheModel) {
  ASSERT_TRUE(certify(0).ok());
  const int all = stopper_.calls;
  ASSERT_GT(all, 10);
  for (int stop_in = 1; stop_in < all; ++stop_in) {
    const auto outcome = certify(stop_in);
    // One answer has three tokens and an end, one step of decoding a prediction for each of six groups and for none.
    EXPECT_LE(stopper_.calls - stop_in, 7) << stop_in;
    if (stop_in >= all - 7) continue;
    ASSERT_FALSE(outcome.ok()) << stop_in;
    EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled) << stop_in;
  }
}

}  // namespace
}  // namespace casemate
