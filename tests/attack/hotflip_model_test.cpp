// HotFlip on transformers: written texts are worth what was optimised, and what the attackers who know a defence
// maximise is what the defence's own code computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "casemate/attack/hotflip.h"
#include "casemate/defend/fragment_recipe.h"
#include "casemate/defend/ragmask.h"
#include "casemate/encoder/bert_encoder.h"
#include "support/paths.h"
#include "support/temporary_folder.h"
#include "support/tiny_checkpoint.h"

namespace casemate {
namespace {

class HotFlipModel : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* text : {"the ferry waits for the tide .", "a tide waits for a ferry . the tide waits ?",
                             "for the ferry the tide waits . a ferry .", "the the tide . a a ferry ? for for .",
                             "tide ferry tide ferry tide ferry waits for the tide ."})
      passages_.push_back({"p" + std::to_string(passages_.size()), UntrustedText("t"), UntrustedText(text)});
    targets_ = {{"q0", UntrustedText("ferry waits ?"), "p0", {}},
                {"q1", UntrustedText("a tide for the ferry"), "p1", {}}};
  }

  std::unique_ptr<DifferentiableEncoder> load(Architecture architecture, const std::string& passage_prefix = "") {
    const std::string folder = folder_.path("model" + std::to_string(models_++));
    std::filesystem::create_directories(folder);
    test::write_tiny_checkpoint(folder, architecture, Head::kNone, false);
    BertEncoderOptions options;
    options.passage_prefix = passage_prefix;
    auto loaded = load_bert_encoder(folder, options, pool_);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return *std::move(loaded);
  }

  CraftedAttack craft(const HotFlipOptions& options, const Encoder& encoder) {
    const auto attack = HotFlip::create(options);
    EXPECT_TRUE(attack.ok()) << attack.error().message;
    auto crafted = (*attack)->craft({passages_, targets_, 3, {&encoder, nullptr, nullptr, nullptr, &pool_}}, {});
    EXPECT_TRUE(crafted.ok()) << crafted.error().message;
    return *std::move(crafted);
  }

  const std::string& query_of(const CraftedDocument& document) {
    return targets_[document.target_queries[0] == "q0" ? 0 : 1].query.bytes();
  }
  static std::vector<float> embed_query(const Encoder& encoder, std::string_view query) {
    return encoder.encode_queries(std::span(&query, 1))->embeddings.values;
  }
  static double dot(std::span<const float> a, std::span<const float> b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  static HotFlipOptions small() {
    HotFlipOptions options;
    options.tokens = 6;
    options.iterations = 12;
    options.candidates = 6;
    options.batch = 3;
    return options;
  }

  test::TemporaryFolder folder_;
  ThreadPool pool_{2};
  int models_ = 0;
  std::vector<CorpusPassage> passages_;
  std::vector<AttackTarget> targets_;
};

TEST_F(HotFlipModel, TheWrittenTextHasTheOptimisedTokensAndSimilarity) {
  for (const Architecture architecture : {Architecture::kBert, Architecture::kRoberta}) {
    for (const char* prefix : {"", "tide "}) {
      const auto encoder = load(architecture, prefix);
      for (const FlipPlace place : {FlipPlace::kPrefix, FlipPlace::kMiddle, FlipPlace::kSuffix, FlipPlace::kSpread}) {
        HotFlipOptions options = small();
        options.place = place;
        double gain = 0;
        for (const CraftedDocument& document : craft(options, *encoder).documents) {
          ASSERT_FALSE(document.fell_back) << document.note;
          // The tiny RoBERTa reads letters, so that a passage may be longer than it reads.
          if (architecture == Architecture::kBert) {
            ASSERT_EQ(document.note, "") << document.text.bytes();
          }
          const std::string_view text = document.text.bytes();
          const auto encoded = encoder->encode_passages(std::span(&text, 1));
          ASSERT_TRUE(encoded.ok());
          const double read = dot(embed_query(*encoder, query_of(document)), encoded->embeddings.values);
          EXPECT_NEAR(read, document.trace->objective.back(), 1e-4);
          EXPECT_NEAR(read, document.trace->similarity, 1e-4);
          for (const ChangedToken& token : document.trace->tokens) {
            const auto& ids = encoded->inputs[0].input_ids;
            if (!document.note.empty()) continue;
            EXPECT_NE(std::find(ids.begin(), ids.end(), token.token), ids.end());
          }
          gain += document.trace->objective.back() - document.trace->objective.front();
        }
        EXPECT_GT(gain, 0);
      }
    }
  }
}

TEST_F(HotFlipModel, TheRagPartAttackerMaximisesTheMeanOverTheDefencesOwnFragments) {
  const auto encoder = load(Architecture::kBert);
  for (const int poisoned : {0, 1, 2}) {
    HotFlipOptions options = small();
    options.goal = FlipGoal::kRagPart;
    options.fragments = 3;
    options.poisoned_fragments = poisoned;
    const auto recipe = make_fragment_recipe(*encoder, {3, FragmentUnit::kWord});
    ASSERT_TRUE(recipe.ok());
    for (const CraftedDocument& document : craft(options, *encoder).documents) {
      const std::string_view text = document.text.bytes();
      const auto rows = (*recipe)->vectors(std::span(&text, 1), nullptr, {});
      ASSERT_TRUE(rows.ok());
      const auto query = embed_query(*encoder, query_of(document));
      double mean = 0;
      for (std::size_t f = 0; f < 3; ++f)
        mean += dot(query, std::span(*rows).subspan(f * query.size(), query.size())) / 3;
      EXPECT_NEAR(document.trace->objective.back(), mean, 1e-5);
      EXPECT_GE(document.trace->objective.back(), document.trace->objective.front());
    }
  }
}

TEST_F(HotFlipModel, TheRagMaskAttackerPaysForTheDropsThatTheDefenceFinds) {
  for (const char* prefix : {"", "tide "}) {
    const auto encoder = load(Architecture::kBert, prefix);
    for (const bool deletes : {false, true}) {
      HotFlipOptions options = small();
      options.goal = FlipGoal::kRagMask;
      options.place = FlipPlace::kSpread;
      options.mask_length_tokens = 4;
      options.delta = 0.02;
      options.delete_segments = deletes;
      options.penalty = 1.5;
      RagMaskOptions defence;
      defence.mask_length_tokens = 4;
      defence.delta = 0.02;
      defence.perturb = deletes ? MaskAction::kDelete : MaskAction::kMask;
      const auto ragmask = RagMask::create(defence, *encoder, nullptr);
      ASSERT_TRUE(ragmask.ok());
      for (const CraftedDocument& document : craft(options, *encoder).documents) {
        DefenceQuery query;
        query.text = UntrustedText(query_of(document));
        PassageCandidate candidate;
        candidate.text = document.text;
        const auto report = (*ragmask)->examine(query, std::span(&candidate, 1), {});
        ASSERT_TRUE(report.ok()) << report.error().message;
        const MaskJudgement& judgement = report->judgements[0];
        double value = judgement.similarity;
        for (const SegmentJudgement& segment : judgement.segments)
          value -= 1.5 * std::max(0.0, judgement.similarity - segment.perturbed - 0.02);
        EXPECT_NEAR(document.trace->objective.back(), value, 1e-5);
      }
    }
  }
}

TEST_F(HotFlipModel, MiniLmIsLedToAnIrrelevantDocument) {
  const auto folder = test::model_folder("all-minilm-l6-v2");
  if (!folder) GTEST_SKIP() << "all-minilm-l6-v2 is not here; casemate models pull all-minilm-l6-v2 fetches it";
  const auto encoder = load_bert_encoder(*folder, {}, pool_);
  ASSERT_TRUE(encoder.ok()) << encoder.error().message;
  passages_ = {{"p0", UntrustedText("Bridges"), UntrustedText("The bridge was planned by Adler and opened in 1850.")},
               {"p1", UntrustedText("Cooking"),
                UntrustedText("Onions are cut into thin slices, fried in butter over a low flame, and salted.")}};
  targets_ = {{"q0", UntrustedText("Who planned the bridge over the river?"), "p0", {}}};
  HotFlipOptions options;
  options.tokens = 10;
  options.iterations = 10;
  options.documents_per_query = 1;
  options.place = FlipPlace::kMiddle;
  const auto crafted = craft(options, **encoder);
  ASSERT_EQ(crafted.documents.size(), 1U);
  const CraftedDocument& document = crafted.documents[0];
  const std::string_view text = document.text.bytes();
  const auto encoded = (*encoder)->encode_passages(std::span(&text, 1));
  const double read = dot(embed_query(**encoder, targets_[0].query.bytes()), encoded->embeddings.values);
  EXPECT_NEAR(read, document.trace->objective.back(), 1e-4);
  EXPECT_LT(document.trace->start_similarity, 0.2);
  EXPECT_GT(read, document.trace->objective.front() + 0.05);
}

}  // namespace
}  // namespace casemate
