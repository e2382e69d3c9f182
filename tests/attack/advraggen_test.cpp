#include "casemate/attack/advraggen.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "casemate/attack/attacks.h"
#include "casemate/attack/craft_cache.h"
#include "small_corpus.h"
#include "support/temporary_folder.h"
#include "testing/hash_encoder.h"
#include "testing/scripted_llm.h"

namespace casemate {
namespace {

/// A model that says "bridge <word>", a random word each time.
std::unique_ptr<testing::ScriptedLlm> make_model() {
  testing::ScriptedLlmOptions options;
  options.vocabulary = {"bridge", " opened", " 7", " onion", " soup"};
  options.distribution = [](std::span<const TokenId>, std::string_view text) {
    std::vector<double> out(3 + 5 + 256, 0);
    const bool begun = text.ends_with("bridge");
    const bool done =
        text.ends_with(" opened") || text.ends_with(" 7") || text.ends_with(" onion") || text.ends_with(" soup");
    if (done) {
      out[testing::ScriptedLlm::kEnd] = 1;
    } else if (begun) {
      for (std::size_t w = 1; w < 5; ++w) out[testing::ScriptedLlm::kFirstWord + w] = 0.25;
    } else {
      out[testing::ScriptedLlm::kFirstWord] = 1;
    }
    return out;
  };
  auto made = testing::ScriptedLlm::create(options);
  EXPECT_TRUE(made.ok());
  return *std::move(made);
}

class AdvRagGenTest : public ::testing::Test {
 protected:
  AdvRagGenTest() { corpus_.targets.resize(3); }

  CraftedAttack craft(const AdvRagGenOptions& options, CraftCache* cache = nullptr) {
    const auto attack = AdvRagGen::create(options);
    EXPECT_TRUE(attack.ok());
    AttackInput input = corpus_.input();
    input.tools.encoder = encoder_.get();
    input.tools.model = model_.get();
    input.tools.cache = cache;
    auto crafted = (*attack)->craft(input, {});
    EXPECT_TRUE(crafted.ok()) << crafted.error().message;
    return *std::move(crafted);
  }
  std::vector<float> embed(const std::string& text) {
    const std::string_view one = text;
    return encoder_->encode(std::span(&one, 1), {})->embeddings.values;
  }
  static double dot(const std::vector<float>& a, const std::vector<float>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  test::SmallCorpus corpus_;
  std::unique_ptr<Encoder> encoder_ = testing::make_hash_encoder();
  std::unique_ptr<testing::ScriptedLlm> model_ = make_model();
};

TEST_F(AdvRagGenTest, PlantsTheBestProposalWithItsThreeRewards) {
  AdvRagGenOptions options;
  options.semantic_weight = 0;
  options.copying_weight = 0;
  options.proposals = 12;
  const auto crafted = craft(options);
  ASSERT_EQ(crafted.documents.size(), 9U);
  for (const CraftedDocument& document : crafted.documents) {
    ASSERT_TRUE(document.paraphrase);
    const std::string query = document.target_queries[0] == "year0"   ? corpus_.targets[0].query.bytes()
                              : document.target_queries[0] == "name0" ? corpus_.targets[1].query.bytes()
                                                                      : corpus_.targets[2].query.bytes();
    const ParaphraseRewards& after = document.paraphrase->after;
    EXPECT_NEAR(after.retrieval, dot(embed(query), embed(document.text.bytes())), 1e-5);
    const std::string source = corpus_.passage(document.source_document).text.bytes();
    EXPECT_NEAR(after.semantic, dot(embed(source), embed(document.text.bytes())), 1e-5);
    EXPECT_GE(after.retrieval, document.paraphrase->before.retrieval);
    EXPECT_NEAR(document.paraphrase->before.semantic, 1, 1e-5);
    // Thirty-six draws of four words: the best of them all is there.
    double best = document.paraphrase->before.retrieval;
    for (const char* word : {"opened", "7", "onion", "soup"})
      best = std::max(best, dot(embed(query), embed(std::string("bridge ") + word)));
    EXPECT_NEAR(after.retrieval, best, 1e-5);
    for (const ParaphrasePreference& pair : document.paraphrase->preferences) {
      EXPECT_GT(dot(embed(query), embed(pair.chosen)), dot(embed(query), embed(pair.rejected)));
      EXPECT_NE(pair.prompt.find(query), std::string::npos);
      EXPECT_EQ(nlohmann::json::parse(preference_record_json(pair)).at("chosen"), pair.chosen);
    }
  }
}

TEST_F(AdvRagGenTest, TheRecordSaysWhetherWordsOfTheQueryStandInARowAndWhoJudged) {
  AdvRagGenOptions options;
  options.semantic_weight = 0;
  options.copying_weight = 0;
  corpus_.targets.resize(2);
  corpus_.targets[0].query = UntrustedText("Is the long bridge opened at noon");
  const auto copies = [&] {
    const auto crafted = craft(options);
    EXPECT_EQ(crafted.documents.at(0).paraphrase->judge, encoder_label(encoder_->info()));
    return std::pair(crafted.documents.at(0).text.bytes(), crafted.documents.at(0).paraphrase->copies_run);
  };
  EXPECT_EQ(copies(), std::pair(std::string("bridge opened"), false));  // two words of it
  // Punctuation and case apart, a document that asks the query has five in a row.
  for (CorpusPassage& passage : corpus_.passages)
    passage.text = UntrustedText("It's said: is THE long-bridge, opened?");
  options.retrieval_weight = 0;
  options.semantic_weight = 1;
  EXPECT_TRUE(copies().second);
}

TEST_F(AdvRagGenTest, ADocumentThatNoParaphraseBeatsIsPlantedAsItIsAndCounted) {
  AdvRagGenOptions options;
  options.retrieval_weight = 0;  // then nothing is as much like the original as itself
  options.copying_weight = 0;
  const auto crafted = craft(options);
  EXPECT_EQ(crafted.fell_back, crafted.documents.size());
  EXPECT_EQ(crafted.documents[0].text, corpus_.passage(crafted.documents[0].source_document).text);
}

TEST_F(AdvRagGenTest, ACacheSparesTheModelAndChangesNothing) {
  const test::TemporaryFolder folder;
  auto cache = open_craft_cache(folder.path("cache.jsonl"));
  ASSERT_TRUE(cache.ok());
  const auto attack = AdvRagGen::create({});
  const auto text_of = [&](const CraftedAttack& crafted) {
    std::string out;
    for (const CraftedDocument& each : crafted.documents) out += attack_record_json(**attack, each) + "\n";
    return out;
  };
  const std::string once = text_of(craft({}));
  EXPECT_EQ(text_of(craft({}, cache->get())), once);
  testing::ScriptedLlmOptions mute;
  mute.vocabulary = {"nothing"};
  model_ = *testing::ScriptedLlm::create(mute);
  EXPECT_EQ(text_of(craft({}, cache->get())), once);
}

TEST_F(AdvRagGenTest, BadOptionsAndMissingToolsAreNamed) {
  for (const char* text : {"{rounds: 0}", "{proposals: 65}", "{temperature: 0}", "{semantic_weight: -1}", "{round: 2}"})
    EXPECT_FALSE(create_attack({"advraggen", text}).ok()) << text;
  const auto attack = create_attack({"advraggen", "{}"});
  EXPECT_EQ((*attack)->craft(corpus_.input(), {}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace casemate
