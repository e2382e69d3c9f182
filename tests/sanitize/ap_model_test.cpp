// Keywords with the small real models. Both group their query heads over fewer key heads.
#include <gtest/gtest.h>

#include "casemate/sanitize/ap_keywords.h"
#include "casemate/sanitize/attention_rollout.h"
#include "llm/llm_fixture.h"
#include "sanitize/full_rollout.h"
#include "sanitize/perturbation.h"

namespace casemate {
namespace {

void expect_rollout_equals_product(LanguageModel& model) {
  const auto ids =
      model
          .tokenize("The ferry to the island leaves the north quay at six. When does the ferry leave? At six.",
                    SpecialTokens::kAsText)
          .value()
          .ids;
  std::vector<test::Matrix> attention;
  const Status seen = model.attention(ids, [&](const AttentionBlock& block) -> Status {
    if (block.layer >= attention.size())
      attention.resize(block.layer + 1, test::Matrix(ids.size(), std::vector<double>(ids.size(), 0.0)));
    for (std::size_t r = 0; r < block.rows; ++r) {
      double sum = 0;
      for (std::size_t i = 0; i <= block.first_row + r; ++i) {
        const auto weight = static_cast<double>(block.weights[r * block.columns + i]);
        attention[block.layer][block.first_row + r][i] = weight;
        sum += weight;
      }
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
    return {};
  });
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  ASSERT_EQ(attention.size(), model.info().layers);
  const auto triangles = capture_attention(model, ids);
  ASSERT_TRUE(triangles.ok());
  const test::Matrix full = test::full_rollout(attention);
  std::vector<double> last(ids.size(), 0.0);
  last.back() = 1;
  const auto rolled = triangles->rollout(last);
  ASSERT_TRUE(rolled.ok());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_NEAR((*rolled)[i], full.back()[i], 1e-2 * full.back()[i] + 1e-9) << i;
}

class ApModelTest : public test::SmallModelTest {
 protected:
  static const KeywordExtractor& tagger() {
    static const auto made = KeywordExtractor::create();
    return **made;
  }
  static std::vector<ContextPassage> passages() {
    return {{UntrustedText(), UntrustedText("Bread rises faster in a warm kitchen.")},
            {UntrustedText(), UntrustedText("The bridge was designed by Karla Voss and opened in 1932.")}};
  }
};

TEST_F(ApModelTest, RolloutEqualsTheFullProductOnARealModel) { expect_rollout_equals_product(model()); }

TEST_F(ApModelTest, RolloutEqualsTheFullProductOnAnotherFamily) {
  LlamaOptions options = test::test_options();
  options.context_tokens = 256;
  const auto other = test::load_or_null(test::other_model_path(), options);
  if (other == nullptr) GTEST_SKIP() << "qwen2.5-coder-0.5b-instruct-q4_k_m is not here";
  expect_rollout_equals_product(*other);
}

TEST_F(ApModelTest, TheWordThatTheAnswerNeedsIsTheKeyword) {
  const auto made = find_ap_keywords(model(), tagger(), UntrustedText("Who designed the bridge?"), passages(), {});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made->chosen.size(), 1U);
  EXPECT_EQ(made->candidates[made->chosen[0]].phrase.bytes(), "Karla Voss");
  EXPECT_GT(*made->candidates[made->chosen[0]].loss_change, 1.0);
}

TEST_F(ApModelTest, LossesDoNotDependOnWhatElseIsInTheBatch) {
  const auto draft = ids(" Karla Voss");
  std::vector<std::vector<TokenId>> prompts;
  for (const char* text : {"The bridge was designed by Karla Voss. Who designed the bridge? Answer:",
                           "The bridge was designed by. Who designed the bridge? Answer:",
                           "The bridge was designed. Who designed the bridge? Answer:"})
    prompts.push_back(ids(text));
  const auto together = sanitize::batched_losses(model(), prompts, draft, {});
  ASSERT_TRUE(together.ok()) << together.error().message;
  const auto chained = sanitize::chained_losses(model(), prompts, prompts[0], draft, {});
  ASSERT_TRUE(chained.ok()) << chained.error().message;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto alone = sanitize::batched_losses(model(), std::span(prompts).subspan(i, 1), draft, {});
    ASSERT_TRUE(alone.ok());
    EXPECT_NEAR((*together)[i], (*alone)[0], 0.05);
    // One after another, every prompt has the same bits alone and among others.
    const auto single = sanitize::chained_losses(model(), std::span(prompts).subspan(i, 1), prompts[i], draft, {});
    ASSERT_TRUE(single.ok());
    EXPECT_EQ((*chained)[i], (*single)[0]);
    EXPECT_NEAR((*together)[i], (*chained)[i], 0.05);
  }
  EXPECT_GT((*chained)[1], (*chained)[0] + 1);
}

}  // namespace
}  // namespace casemate
