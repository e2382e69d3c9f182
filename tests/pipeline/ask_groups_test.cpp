#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "casemate/certify/verify.h"
#include "casemate/core/signing.h"
#include "casemate/generate/passage_states.h"
#include "casemate/pipeline/prepare.h"
#include "casemate/pipeline/replay.h"
#include "pipeline_fixture.h"

namespace casemate {
namespace {

using ::testing::HasSubstr;

/// Seven passages about one ferry: six say six o'clock, one says nine.
class AskGroupsTest : public PipelineFixture {
 protected:
  void SetUp() override {
    PipelineFixture::SetUp();
    std::string corpus;
    for (int i = 0; i < 7; ++i) {
      corpus += "{\"_id\":\"p" + std::to_string(i) + "\",\"text\":\"Note " + std::to_string(i) +
                ": the ferry leaves the quay at " + (i == 3 ? "nine" : "six") + ".\"}\n";
    }
    write("corpus.jsonl", corpus);
    ASSERT_TRUE(index("corpus.jsonl").ok());
  }

  static std::unique_ptr<testing::ScriptedLlm> ferry_model() {
    testing::ScriptedLlmOptions options;
    options.vocabulary = {"six", "nine", "A", "B", "I don't know"};
    options.answers = {{"Hints: six", "six"},
                       {"at six.\n\nQuestion: When does the ferry leave?\nA.", "A"},
                       {"at nine.\n\nQuestion: When does the ferry leave?\nA.", "B"},
                       {"at six.\n\nQuestion: When", "six"},
                       {"at nine.\n\nQuestion: When", "nine"},
                       {"", "I don't know"}};
    auto made = testing::ScriptedLlm::create(options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }

  Result<Answer> ask(LanguageModel* model, std::optional<Aggregation> aggregation, bool certify,
                     const SigningKey* key = nullptr, PassageStates* states = nullptr, QueryOptions options = {}) {
    Policy policy = *find_policy("off");
    policy.top_k = 7;
    policy.generation.aggregation = aggregation;
    policy.generation.certify = certify;
    PipelineParts with = parts(model);
    with.key = key;
    with.states = states;
    const auto made = Pipeline::create(with, policy);
    if (!made) return made.error();
    return (*made)->ask(UntrustedText("When does the ferry leave?"), options, {}, {});
  }
};

TEST_F(AskGroupsTest, APlantedPassageDoesNotChangeTheAnswerAndACertificateSaysHowMany) {
  const auto llm = ferry_model();
  const SigningKey key = SigningKey::generate();
  for (const Aggregation method : {Aggregation::kKeyword, Aggregation::kDecoding}) {
    const auto answer = ask(llm.get(), method, true, &key);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->text.bytes(), "six");
    ASSERT_TRUE(answer->evidence.generation.has_value());
    const GenerationEvidence& generation = *answer->evidence.generation;
    EXPECT_EQ(generation.method, aggregation_name(method));
    ASSERT_EQ(generation.groups.size(), 7U);
    EXPECT_GE(generation.k_prime, 1);
    const auto verified = verify_certificate(answer->certificate, {key.public_key()});
    ASSERT_TRUE(verified.ok()) << verified.error().message;
    EXPECT_TRUE(verified->holds());
    EXPECT_EQ(verified->certificate.k_prime, generation.k_prime);
    for (const Source& source : answer->sources) {
      const bool says_six = source.hit.text.bytes().find("six") != std::string::npos;
      EXPECT_EQ(source.cited, says_six) << source.hit.text.bytes();
    }
  }
}

TEST_F(AskGroupsTest, TheEvidenceAsJsonHasGroupsCountsAndTheCertificate) {
  const auto llm = ferry_model();
  const auto answer = ask(llm.get(), Aggregation::kKeyword, true);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const auto json = nlohmann::json::parse(to_json(*answer));
  const auto& generation = json["evidence"]["generation"];
  EXPECT_EQ(generation["groups"].size(), 7U);
  EXPECT_EQ(generation["counts"][0]["name"], "six");
  EXPECT_EQ(generation["counts"][0]["groups"], 6);
  EXPECT_EQ(generation["hints"][0], "six");
  EXPECT_GE(generation["certified"]["k_prime"].get<int>(), 1);
  EXPECT_FALSE(json["certificate"].is_null());
}

TEST_F(AskGroupsTest, AMultipleChoiceIsAnsweredByALetter) {
  const auto llm = ferry_model();
  QueryOptions options;
  options.options = {UntrustedText("six"), UntrustedText("nine")};
  const auto answer = ask(llm.get(), Aggregation::kVoting, true, nullptr, nullptr, options);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->text.bytes(), "A");
  EXPECT_EQ(answer->evidence.generation->counts[0], (std::pair<std::string, int>("A", 6)));
  EXPECT_EQ(answer->evidence.generation->k_prime, 2);  // 6 - 1 >= 2r + [b precedes a], r = 2
  const auto without = ask(llm.get(), std::nullopt, false, nullptr, nullptr, options);
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ(without->text.bytes(), "A");
}

TEST_F(AskGroupsTest, KeptStatesMakeTheSecondAnswerCheaperAndNoOther) {
  const auto llm = ferry_model();
  auto states = PassageStates::create({}).value();
  const auto cold = ask(llm.get(), Aggregation::kKeyword, false, nullptr, states.get());
  const auto warm = ask(llm.get(), Aggregation::kKeyword, false, nullptr, states.get());
  ASSERT_TRUE(warm.ok()) << warm.error().message;
  EXPECT_EQ(warm->text, cold->text);
  EXPECT_LT(warm->evidence.generation->decoded_tokens, cold->evidence.generation->decoded_tokens);
}

TEST_F(AskGroupsTest, ACertificateReplaysOverTheStoreAndNoLongerWhenAnythingChanged) {
  const auto llm = ferry_model();
  for (const Aggregation method : {Aggregation::kVoting, Aggregation::kKeyword, Aggregation::kDecoding}) {
    QueryOptions options;
    if (method == Aggregation::kVoting) options.options = {UntrustedText("six"), UntrustedText("nine")};
    const auto answer = ask(llm.get(), method, true, nullptr, nullptr, options);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    const Certificate certificate = verify_certificate(answer->certificate)->certificate;
    auto passages = find_passages(*store_, "default", certificate, Progress::none());
    ASSERT_TRUE(passages.ok()) << passages.error().message;
    const auto failing = [&](const Certificate& each, LanguageModel& model) {
      const auto checks = replay_certificate(each, *passages, options.options, model);
      EXPECT_TRUE(checks.ok()) << checks.error().message;
      int failed = 0;
      for (const CertificateCheck& check : *checks) failed += check.holds ? 0 : 1;
      return failed;
    };
    EXPECT_EQ(failing(certificate, *llm), 0) << aggregation_name(method);
    Certificate other = certificate;
    other.answer = UntrustedText("nine");
    EXPECT_GT(failing(other, *llm), 0);
    // One passage says something else now.
    for (PromptPassage& passage : *passages) {
      const std::size_t at = passage.text.bytes().find("six");
      if (at == std::string::npos) continue;
      passage.text = UntrustedText(passage.text.bytes().substr(0, at) + "nine.");
      break;
    }
    EXPECT_GT(failing(certificate, *llm), 0);
  }
}

TEST_F(AskGroupsTest, WithRagPartTheEvidenceSaysWhatPlantedPassagesCouldChange) {
  const auto llm = ferry_model();
  std::string corpus;
  for (int i = 0; i < 30; ++i)
    corpus += "{\"_id\":\"other" + std::to_string(i) + "\",\"text\":\"Bread number " + std::to_string(i) +
              " rises faster in a warm kitchen.\"}\n";
  write("other.jsonl", corpus);
  ASSERT_TRUE(index("other.jsonl").ok());
  const auto ragpart = parse_defence("ragpart{fragments: 5, combination: 3}").value();
  DefenceServices services;
  services.encoder = encoder_.get();
  const auto scan = create_scan_defence(ragpart, services).value();
  ASSERT_TRUE(complete_vectors(*store_, "default", scan->recipe(), Progress::none(), {}).ok());
  Policy policy = *find_policy("off");
  policy.top_k = 7;
  policy.generation = {Aggregation::kDecoding, 1, false, true, PlantedPassages{1, 1, 0.0, 1e-5}};
  policy.defences = {ragpart};
  const auto made = Pipeline::create(parts(llm.get()), policy);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto answer = (*made)->ask(UntrustedText("When does the ferry leave?"), {}, {}, {});
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const std::vector<std::string>& notes = answer->evidence.stages.back().notes;
  ASSERT_FALSE(notes.empty());
  EXPECT_THAT(notes[0], HasSubstr("1 planted passage with 1 poisoned fragment"));
  const auto verified = verify_certificate(answer->certificate);
  ASSERT_TRUE(verified.ok()) << verified.error().message;
  EXPECT_TRUE(verified->holds());
  const bool composes = notes[0].find("stays as it is") != std::string::npos;
  EXPECT_EQ(verified->certificate.retrieval.has_value(), composes);
  // Undefended retrieval has no votes to speak of.
  policy.defences.clear();
  const auto plain = Pipeline::create(parts(llm.get()), policy).value();
  const auto undefended = plain->ask(UntrustedText("When does the ferry leave?"), {}, {}, {});
  ASSERT_TRUE(undefended.ok()) << undefended.error().message;
  EXPECT_THAT(undefended->evidence.stages.back().notes.at(0), HasSubstr("nothing is claimed"));
}

TEST_F(AskGroupsTest, ReplayNamesPassagesThatTheStoreDoesNotHave) {
  const auto llm = ferry_model();
  const auto answer = ask(llm.get(), Aggregation::kDecoding, true);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  Certificate certificate = verify_certificate(answer->certificate)->certificate;
  certificate.passages[2] = blake2b("gone");
  const auto missing = find_passages(*store_, "default", certificate, Progress::none());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("1 of"));
}

TEST_F(AskGroupsTest, WhatCannotBeCertifiedIsRefusedBeforeAnyQuestion) {
  const auto llm = ferry_model();
  const auto one_prompt = ask(llm.get(), std::nullopt, true);
  EXPECT_EQ(one_prompt.error().code, ErrorCode::kInvalidOption);
  EXPECT_THAT(one_prompt.error().message, HasSubstr("aggregation"));
  Policy policy = *find_policy("off");
  policy.generation = {Aggregation::kKeyword, 1, false, true};
  policy.defences = {{"paraphrase", "{}"}};
  const auto mixed = Pipeline::create(parts(llm.get()), policy);
  EXPECT_EQ(mixed.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(mixed.error().message, HasSubstr("paraphrase"));
}

TEST_F(AskGroupsTest, DecodingOverAModelWithoutProbabilitiesIsRefusedWithTheReason) {
  testing::ScriptedLlmOptions options;
  options.answers = {{"", "six"}};
  options.features = {Feature::kTokens};
  const auto llm = testing::ScriptedLlm::create(options).value();
  const auto refused = ask(llm.get(), Aggregation::kDecoding, false);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("decoding aggregation"));
}

}  // namespace
}  // namespace casemate
