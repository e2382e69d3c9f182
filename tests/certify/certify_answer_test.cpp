#include "casemate/certify/certify_answer.h"

#include <gmock/gmock.h>

#include <random>

#include "casemate/certify/make_certificate.h"
#include "casemate/certify/verify.h"
#include "certify/parrot.h"

namespace casemate {
namespace {

using test::colour;
using test::kWords;
using test::options_of;
using test::parrot;
using test::passages_of;
using ::testing::HasSubstr;
using testing::ScriptedLlm;
using testing::ScriptedLlmOptions;

struct Live {
  RobustAnswer answer;
  AnswerCertificate certificate;
};

Result<Live> answer_and_certify(LanguageModel& model, Aggregation method, const std::vector<std::string>& texts) {
  const Question question = colour(method);
  const RobustOptions options = options_of(method, question);
  const auto passages = passages_of(texts);
  auto answer = answer_robustly(model, question, passages, options);
  if (!answer) return answer.error();
  auto certificate = certify_answer(model, question, passages, options, *answer, {});
  if (!certificate) return certificate.error();
  return Live{*std::move(answer), *std::move(certificate)};
}

class CertifyAnswer : public ::testing::TestWithParam<Aggregation> {};
INSTANTIATE_TEST_SUITE_P(Methods, CertifyAnswer,
                         ::testing::Values(Aggregation::kVoting, Aggregation::kKeyword, Aggregation::kDecoding),
                         [](const auto& each) { return std::string(aggregation_name(each.param)); });

TEST_P(CertifyAnswer, WhatIsCertifiedIsAcceptedByTheVerifierAndSurvivesEveryReplacement) {
  const auto model = parrot();
  std::mt19937 random(7);
  const std::vector<std::string> stock = {"red", "green", "blue", "none"};
  int certified = 0;
  int broken_beyond = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 7; ++i) texts.push_back(stock[random() % 10 < 7 ? 0 : random() % stock.size()]);
    const auto live = answer_and_certify(*model, GetParam(), texts);
    ASSERT_TRUE(live.ok()) << live.error().message;
    const auto k_prime = static_cast<std::size_t>(live->certificate.k_prime);
    if (live->certificate.certificate) {
      ++certified;
      const SigningKey key = SigningKey::from_seed(std::string(32, 'k')).value();
      const auto file = write_certificate(*live->certificate.certificate, key);
      ASSERT_TRUE(file.ok()) << file.error().message;
      const auto verified = verify_certificate(*file, {key.public_key()});
      ASSERT_TRUE(verified.ok()) << verified.error().message;
      EXPECT_TRUE(verified->holds());
    }
    // Attack by the model itself: one malicious passage more than certified is tried too.
    for (std::size_t malicious = 0; malicious <= std::min<std::size_t>(k_prime + 1, 2); ++malicious) {
      for (int attempt = 0; attempt < 12; ++attempt) {
        auto attacked = texts;
        for (std::size_t i = 0; i < malicious; ++i) attacked[random() % texts.size()] = stock[1 + random() % 3];
        const Question question = colour(GetParam());
        const auto passages = passages_of(attacked);
        const auto after = answer_robustly(*model, question, passages, options_of(GetParam(), question));
        ASSERT_TRUE(after.ok());
        const bool same = after->text == live->answer.text;
        if (malicious <= k_prime) {
          EXPECT_TRUE(same) << "certified for " << k_prime << ", changed by " << malicious;
        } else if (!same) {
          ++broken_beyond;
        }
      }
    }
  }
  EXPECT_GT(certified, 20);
  EXPECT_GT(broken_beyond, 0) << "the attack is too weak to say anything";
}

TEST_P(CertifyAnswer, AnswersNearToAnotherAreTheAttackers) {
  // Seven groups, each as good as undecided: nothing can be certified.
  const auto model = parrot(.004);
  const auto live = answer_and_certify(*model, GetParam(), std::vector<std::string>(7, "red"));
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_EQ(live->certificate.k_prime, 0);
  EXPECT_FALSE(live->certificate.certificate.has_value());
  EXPECT_FALSE(live->certificate.limited_by.empty());
}

TEST_P(CertifyAnswer, WhereAllDeclineNothingIsCertified) {
  const auto model = parrot(.999);
  const auto live = answer_and_certify(*model, GetParam(), std::vector<std::string>(5, "none"));
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_FALSE(live->answer.from_passages);
  EXPECT_EQ(live->certificate.k_prime, 0);
  EXPECT_THAT(live->certificate.limited_by,
              HasSubstr(GetParam() == Aggregation::kDecoding ? "every group declines" : "answered alone"));
}

TEST(CertifyAnswerInput, WhereAllDeclineUnderALargeEtaTheAnswerWithoutRetrievalIsCertified) {
  // Two groups can put a token ahead by at most 2, which is not more than eta: they are not heard. Three are.
  const auto model = parrot(.999);
  const Question question = colour(Aggregation::kDecoding);
  RobustOptions options = options_of(Aggregation::kDecoding, question);
  options.eta = 2;
  const auto passages = passages_of(std::vector<std::string>(5, "none"));
  const auto answer = answer_robustly(*model, question, passages, options).value();
  EXPECT_FALSE(answer.from_passages);
  const auto made = certify_answer(*model, question, passages, options, answer, {}).value();
  ASSERT_EQ(made.k_prime, 2) << made.limited_by;
  const auto file = write_certificate(*made.certificate, SigningKey::from_seed(std::string(32, 'k')).value());
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(verify_certificate(*file).value().holds());
  for (const std::string& lie : kWords) {
    for (std::size_t liars = 1; liars <= 3; ++liars) {
      std::vector<std::string> attacked(5, "none");
      std::fill_n(attacked.begin(), liars, lie);
      const auto after = answer_robustly(*model, question, passages_of(attacked), options).value();
      EXPECT_EQ(after.text == answer.text, liars <= 2) << liars << " say " << lie;
    }
  }
}

TEST_P(CertifyAnswer, TooFewPassagesForAnyBudgetGetNone) {
  const auto model = parrot();
  const auto live = answer_and_certify(*model, GetParam(), {"red"});
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_EQ(live->certificate.k_prime, 0);
}

TEST(CertifyAnswerInput, AnAnswerOfOtherPassagesOrWithoutATraceIsAnError) {
  const auto model = parrot();
  const Question question = colour(Aggregation::kDecoding);
  RobustOptions options = options_of(Aggregation::kDecoding, question);
  const auto passages = passages_of({"red", "red", "red"});
  const auto answer = answer_robustly(*model, question, passages, options).value();
  EXPECT_EQ(certify_answer(*model, question, std::span(passages).first(2), options, answer, {}).error().code,
            ErrorCode::kInvalidArgument);
  options.trace = false;
  const auto bare = answer_robustly(*model, question, passages, options).value();
  EXPECT_THAT(certify_answer(*model, question, passages, options, bare, {}).error().message, HasSubstr("trace"));
}

TEST(CertifyAnswerInput, TheOptionsOfAMultipleChoiceArePartOfTheQuestion) {
  const auto model = parrot();
  const std::vector<std::string> texts(7, "red");
  const auto live = answer_and_certify(*model, Aggregation::kVoting, texts);
  ASSERT_TRUE(live.ok()) << live.error().message;
  ASSERT_TRUE(live->certificate.certificate.has_value());
  const CertifiedQuestion& asked = live->certificate.certificate->question;
  EXPECT_EQ(asked.text->bytes(), "colour?\nA. red\nB. green\nC. blue");
  EXPECT_EQ(asked.hash, blake2b("colour?\nA. red\nB. green\nC. blue"));
}

TEST(CertifyAnswerInput, AnswersThatEndedUnseenGetNoCertificate) {
  ScriptedLlmOptions scripted;
  scripted.vocabulary = kWords;
  scripted.answers = {{"", "red"}};
  scripted.features = {Feature::kTokens, Feature::kTopLogProbabilities};
  const auto model = ScriptedLlm::create(scripted).value();
  const auto live = answer_and_certify(*model, Aggregation::kKeyword, std::vector<std::string>(7, "red"));
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_EQ(live->certificate.k_prime, 0);
  EXPECT_THAT(live->certificate.limited_by, HasSubstr("where its answers end included"));
}

TEST(CertifyAnswerInput, AModelWithoutProbabilitiesGetsNoCertificateAndTheReason) {
  ScriptedLlmOptions scripted;
  scripted.vocabulary = kWords;
  scripted.answers = {{"", "red"}};
  scripted.features = {Feature::kTokens};
  const auto model = ScriptedLlm::create(scripted).value();
  const auto live = answer_and_certify(*model, Aggregation::kKeyword, std::vector<std::string>(7, "red"));
  ASSERT_TRUE(live.ok()) << live.error().message;
  EXPECT_EQ(live->certificate.k_prime, 0);
  EXPECT_THAT(live->certificate.limited_by, HasSubstr("does not give the probabilities"));
}

}  // namespace
}  // namespace casemate
