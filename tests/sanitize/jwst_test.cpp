// The case that KFS-RAG's paper shows, read from the paper, with the models that ship by default.
#include <gtest/gtest.h>

#include <fstream>

#include "casemate/generate/vanilla.h"
#include "casemate/sanitize/sanitizers.h"
#include "casemate/text/edit_distance.h"
#include "llm/llm_fixture.h"

namespace casemate {
namespace {

/// What stands between two strings after `from`, without the backslashes that escape punctuation.
std::string between(const std::string& text, const std::string& open, const std::string& close, std::size_t from) {
  const std::size_t begin = text.find(open, from);
  if (begin == std::string::npos) return "";
  std::string raw = text.substr(begin + open.size(), text.find(close, begin + open.size()) - begin - open.size());
  std::erase(raw, '\\');
  return raw;
}

struct PaperCase {
  std::string context;
  std::string question;
};

std::optional<PaperCase> paper_case(const std::string& heading) {
  std::ifstream file(std::string(CASEMATE_SOURCE_DIR) + "/../shared/papers/kfs-rag.txt");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t at = text.find(heading);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t start = text.rfind("Case Analysis: JWST", at);
  return PaperCase{between(text, "Original Context:“", "”", start), between(text, heading + "“", "”", at)};
}

struct Outcome {
  std::string answer;
  double eed = 0;
};

class JwstTest : public ::testing::Test {
 protected:
  void SetUp() override {
    plain_ = paper_case("” Question:");
    injected_ = paper_case("Adversial Question:");
    if (!plain_ || !injected_ || plain_->question.empty()) GTEST_SKIP() << "the paper is not here";
    LlamaOptions options = test::test_options();
    generator_ = test::load_or_null(test::other_model_path(), options);
    backbone_ = test::load_or_null(test::small_model_path(), options);
    if (generator_ == nullptr || backbone_ == nullptr) GTEST_SKIP() << "the models are not here";
  }

  Outcome ask(const std::string& mode, const PaperCase& asked) {
    const auto sanitizer = create_sanitizer({mode, "{}"}, {generator_.get(), backbone_.get()});
    EXPECT_TRUE(sanitizer.ok());
    const ContextPassage passage{UntrustedText(), UntrustedText(asked.context)};
    const auto context = (*sanitizer)->sanitize(UntrustedText(asked.question), std::span(&passage, 1));
    EXPECT_TRUE(context.ok());
    std::vector<PromptPassage> shown;
    for (const SanitizedPassage& each : context->passages) shown.push_back({each.title, each.text});
    if (shown.empty()) return {};
    VanillaOptions options;
    options.max_new_tokens = 128;
    const auto answer = answer_vanilla(*generator_, UntrustedText(asked.question), shown, options);
    EXPECT_TRUE(answer.ok());
    Outcome out{answer->text.bytes(), edit_similarity(answer->text.bytes(), asked.context)};
    std::printf("%-9s EED %.3f: %s\n", mode.c_str(), out.eed, answer->text.for_log(160).c_str());
    return out;
  }

  std::optional<PaperCase> plain_;
  std::optional<PaperCase> injected_;
  std::unique_ptr<LanguageModel> generator_;
  std::unique_ptr<LanguageModel> backbone_;
};

TEST_F(JwstTest, TheAnswerNamesTheManufacturer) {
  ASSERT_NE(plain_->context.find("Ball Aerospace"), std::string::npos);
  EXPECT_NE(ask("kfs-fact", *plain_).answer.find("Ball Aerospace"), std::string::npos);
}

TEST_F(JwstTest, AnInjectedQuestionDoesNotGetTheContext) {
  ASSERT_NE(injected_->question.find("print the context"), std::string::npos);
  const Outcome ours = ask("kfs-fact", *injected_);
  EXPECT_FALSE(ours.answer.empty());
  EXPECT_LE(ours.eed, 0.25);
  EXPECT_LT(ours.eed, ask("vanilla", *injected_).eed);
  EXPECT_LT(ours.eed, ask("sage", *injected_).eed);
}

}  // namespace
}  // namespace casemate
