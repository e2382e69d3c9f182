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
  [[nodiscard]] ChunkId first_chunk(const std::string& document) const {
    return store_->document("default", document)->first_chunk;
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

TEST_F(ParaphraseScan, TwoModelsAndTwoLengthsShareNoVectors) {
  const auto first = Paraphrase::create({}, services_);
  testing::ScriptedLlmOptions options;
  options.name = "other";
  options.vocabulary = {" harbour", " boats", " stone"};
  options.answers = {{"ferry", " stone"}, {"", " harbour boats"}};
  const auto other_llm = *testing::ScriptedLlm::create(std::move(options));
  DefenceServices other_services = services_;
  other_services.model = other_llm.get();
  const auto second = Paraphrase::create({}, other_services);
  ParaphraseOptions shorter;
  shorter.max_new_tokens = 16;
  const std::string kind = (*first)->recipe().kind();
  EXPECT_NE(kind, (*second)->recipe().kind());
  EXPECT_NE(kind, (*Paraphrase::create(shorter, services_))->recipe().kind());
  EXPECT_EQ(kind, (*Paraphrase::create({}, services_))->recipe().kind());
  EXPECT_LE(kind.size(), 31U);

  add("a", "the ferry leaves", &(*first)->recipe());
  add("b", "walls of granite", &(*first)->recipe());
  // The other model's are not there, and the first one's do not stand for them.
  EXPECT_EQ((*second)->scan(*store_, query("stone"), 1, nullptr, pool_, {}).error().code, ErrorCode::kInvalidInput);
  for (const auto& [document, text] : {std::pair{"a", "the ferry leaves"}, std::pair{"b", "walls of granite"}}) {
    const ChunkId chunk = first_chunk(document);
    const std::string_view view = text;
    auto rows = (*second)->recipe().vectors(std::span(&view, 1), nullptr, {});
    ASSERT_TRUE(rows.ok());
    const int dimension = static_cast<int>(rows->size());
    ASSERT_TRUE(
        store_
            ->add_vectors("default", std::span(&chunk, 1), {(*second)->recipe().kind(), 1, dimension, *std::move(rows)})
            .ok());
  }
  EXPECT_EQ(found(**first, query("stone"), 1), std::vector<std::string>{"b"});
  EXPECT_EQ(found(**second, query("stone"), 1), std::vector<std::string>{"a"});
  // Without a model it must be said whose are meant.
  services_.model = nullptr;
  const auto unsaid = (*Paraphrase::create({}, services_))->scan(*store_, query("stone"), 1, nullptr, pool_, {});
  ASSERT_FALSE(unsaid.ok());
  const std::string digits = (*second)->recipe().kind().substr(std::string("paraphrase-").size());
  EXPECT_NE(unsaid.error().message.find(digits), std::string::npos) << unsaid.error().message;
  ParaphraseOptions said;
  said.made_by = digits;
  EXPECT_EQ(found(**Paraphrase::create(said, services_), query("stone"), 1), std::vector<std::string>{"a"});
  said.made_by = "xyz";
  EXPECT_EQ(Paraphrase::create(said, services_).error().code, ErrorCode::kInvalidOption);
  services_.model = llm_.get();
  said.made_by = digits;  // which this model does not make
  EXPECT_EQ(Paraphrase::create(said, services_).error().code, ErrorCode::kInvalidOption);
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
