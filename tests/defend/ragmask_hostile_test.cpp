// Inputs that a defence must survive: each has an error or a defined result that the evidence states.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "casemate/defend/passage_cache.h"
#include "casemate/defend/ragmask.h"
#include "casemate/encoder/bert_encoder.h"
#include "mask_twin.h"
#include "pool.h"
#include "support/temporary_folder.h"
#include "support/tiny_checkpoint.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

using test::embed_query;
using test::ranked_candidates;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Encoder> short_encoder(int max_tokens, const std::string& failing_word) {
  testing::HashEncoderOptions options;
  options.max_tokens = max_tokens;
  options.failing_word = failing_word;
  return testing::make_hash_encoder(options);
}

class RagMaskHostile : public ::testing::Test {
 protected:
  DefendedRanking rank(const RagMaskOptions& options, const std::vector<std::string>& texts, int top_k = 5) {
    const auto defence = RagMask::create(options, *encoder_, nullptr);
    EXPECT_TRUE(defence.ok());
    candidates_ = ranked_candidates(*encoder_, query_.embedding, texts);
    auto ranking = (*defence)->rank(query_, candidates_, top_k, {});
    EXPECT_TRUE(ranking.ok());
    for (const DefendedPassage& passage : ranking->passages) EXPECT_TRUE(std::isfinite(passage.score));
    return *std::move(ranking);
  }

  std::unique_ptr<Encoder> encoder_ = short_encoder(12, "");
  DefenceQuery query_ = [this] {
    DefenceQuery query;
    query.text = UntrustedText("ferry tide");
    query.embedding = embed_query(*encoder_, "ferry tide");
    return query;
  }();
  std::vector<PassageCandidate> candidates_;
};

bool says(const Verdict& verdict, std::string_view what) { return verdict.reason.find(what) != std::string::npos; }

TEST_F(RagMaskHostile, NoCandidatesAndTopZeroGiveNothing) {
  EXPECT_TRUE(rank({}, {}).passages.empty());
  EXPECT_TRUE(rank({}, {"ferry"}, 0).passages.empty());
}

TEST_F(RagMaskHostile, APassageWithoutTokensKeepsItsScore) {
  for (const char* text : {"", " \n ", "\x01\x02"}) {
    const auto ranking = rank({}, {text});
    ASSERT_EQ(ranking.passages.size(), 1U);
    EXPECT_EQ(ranking.passages[0].score, candidates_[0].score);
    EXPECT_TRUE(says(ranking.verdicts[0], "no tokens"));
  }
}

TEST_F(RagMaskHostile, WhereEverythingIsSuspiciousThePassageIsRankedByWhatIsLeft) {
  for (const MaskAction action : {MaskAction::kMask, MaskAction::kDelete}) {
    RagMaskOptions options;
    options.perturb = options.sanitise = action;
    options.mask_length_tokens = 1;
    const auto ranking = rank(options, {"ferry tide", "plum salt"});
    const Verdict& verdict = test::verdict_about(ranking, 1);
    EXPECT_TRUE(says(verdict, "all its 2 segments are suspicious"));
    EXPECT_EQ(verdict.masked, (std::vector<CharacterSpan>{{0, 10}}));
    // Deleting leaves the framing tokens alone.
    const std::vector<std::vector<TokenId>> left = {action == MaskAction::kMask ? std::vector<TokenId>{0, 2, 2, 1}
                                                                                : std::vector<TokenId>{0, 1}};
    const auto embedding = encoder_->encode_tokens(left);
    double expected = 0;
    for (std::size_t i = 0; i < query_.embedding.size(); ++i)
      expected += static_cast<double>(query_.embedding[i]) * static_cast<double>(embedding->values[i]);
    for (const DefendedPassage& passage : ranking.passages) {
      if (candidates_[passage.candidate].chunk == 1) {
        EXPECT_EQ(passage.score, expected);
      }
    }
  }
}

TEST_F(RagMaskHostile, ASingleTokenOrSegmentIsJudgedLikeAnyOther) {
  const auto one_token = rank({}, {"ferry"});
  EXPECT_TRUE(says(one_token.verdicts[0], "its only segment is suspicious"));
  RagMaskOptions longer;
  longer.mask_length_tokens = 512;
  const auto one_segment = rank(longer, {"ferry tide lamp stone"});
  EXPECT_TRUE(says(one_segment.verdicts[0], "its only segment is suspicious"));
  EXPECT_EQ(one_segment.verdicts[0].masked, (std::vector<CharacterSpan>{{0, 21}}));
}

TEST_F(RagMaskHostile, TokensBeyondTheEncodersLimitAreNotExaminedAndTheVerdictSaysSo) {
  RagMaskOptions options;
  options.mask_length_tokens = 4;
  std::string text = "ferry tide";
  for (int i = 0; i < 30; ++i) text += " plum";
  const auto ranking = rank(options, {text});
  EXPECT_TRUE(says(ranking.verdicts[0], "22 tokens lie beyond the encoder's limit"));  // 32 words, 10 fit
}

TEST_F(RagMaskHostile, SpecialTokensWrittenInAPassageAreText) {
  const test::TemporaryFolder folder;
  test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kNone, false);
  const ThreadPool pool(1);
  const auto tiny = load_bert_encoder(folder.root(), {}, pool);
  ASSERT_TRUE(tiny.ok());
  const auto query = embed_query(**tiny, "the ferry");
  const auto candidates = ranked_candidates(**tiny, query, {"[MASK] [SEP] [CLS] [PAD]", "[MASK]"});
  const auto defence = RagMask::create({}, **tiny, nullptr);
  ASSERT_TRUE(defence.ok());
  DefenceQuery asked;
  asked.embedding = query;
  const auto report = (*defence)->examine(asked, candidates, {});
  ASSERT_TRUE(report.ok());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto twin = test::mask_twin({}, **tiny, query, candidates[i].text.bytes());
    EXPECT_GE(report->judgements[i].tokens, 3U);  // brackets are tokens of their own
    EXPECT_EQ(report->judgements[i].sanitised_similarity, twin.sanitised_similarity);
  }
}

TEST_F(RagMaskHostile, IdenticalPassagesFareAlikeAndAreOrderedById) {
  RagMaskOptions options;
  options.mask_length_tokens = 2;
  const auto ranking = rank(options, {"plum ferry tide", "ferry tide lamp", "ferry tide lamp", "ferry tide lamp"}, 4);
  std::vector<ChunkId> copies;
  std::vector<double> scores;
  for (const DefendedPassage& passage : ranking.passages) {
    if (candidates_[passage.candidate].chunk == 1) continue;
    copies.push_back(candidates_[passage.candidate].chunk);
    scores.push_back(passage.score);
  }
  EXPECT_EQ(copies, (std::vector<ChunkId>{2, 3, 4}));
  EXPECT_EQ(scores, std::vector<double>(3, scores[0]));
}

TEST_F(RagMaskHostile, ABadQueryEmbeddingIsAnErrorAndABadPassageEmbeddingIsMadeAnew) {
  const auto defence = RagMask::create({}, *encoder_, nullptr);
  ASSERT_TRUE(defence.ok());
  auto candidates = ranked_candidates(*encoder_, query_.embedding, {"ferry lamp", "tide lamp"});
  const auto good = (*defence)->rank(query_, candidates, 2, {});
  candidates[0].embedding[3] = kNan;
  candidates[1].embedding.clear();
  const auto ranking = (*defence)->rank(query_, candidates, 2, {});
  ASSERT_TRUE(good.ok() && ranking.ok());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(says(ranking->verdicts[i], "made anew"));
    EXPECT_EQ(ranking->passages[i].score, good->passages[i].score);
  }
  DefenceQuery bad = query_;
  bad.embedding[0] = kNan;
  EXPECT_EQ((*defence)->rank(bad, candidates, 2, {}).error().code, ErrorCode::kInvalidArgument);
  bad.embedding.resize(3, 0.5F);
  EXPECT_EQ((*defence)->rank(bad, candidates, 2, {}).error().code, ErrorCode::kInvalidArgument);
  bad.embedding.clear();  // embedded from its text
  EXPECT_TRUE((*defence)->rank(bad, candidates, 2, {}).ok());
}

TEST_F(RagMaskHostile, APassageThatCannotBeEmbeddedIsDroppedAndTheOthersGoOn) {
  const auto failing = short_encoder(256, "cursed");
  auto candidates = ranked_candidates(*encoder_, query_.embedding, {"ferry lamp", "tide lamp"});
  candidates[1].text = UntrustedText("cursed tide lamp");
  RagMaskOptions options;
  options.mask_length_tokens = 1;  // so that the word stays where another one is masked
  const auto defence = RagMask::create(options, *failing, nullptr);
  ASSERT_TRUE(defence.ok());
  const auto ranking = (*defence)->rank(query_, candidates, 2, {});
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  ASSERT_EQ(ranking->passages.size(), 1U);
  EXPECT_EQ(ranking->passages[0].candidate, 0U);
  EXPECT_EQ(ranking->verdicts[1].decision, Decision::kDropped);
  EXPECT_TRUE(says(ranking->verdicts[1], "cannot embed"));
  EXPECT_EQ(ranking->notes.size(), 1U);
}

TEST_F(RagMaskHostile, WhereOnlyWhatCanBeReachedIsExaminedFailuresAndMissingEmbeddingsAre) {
  const auto failing = short_encoder(256, "cursed");
  auto candidates =
      ranked_candidates(*encoder_, query_.embedding, {"ferry tide", "ferry lamp", "plum", "salt hill", "stone"});
  candidates[0].text = UntrustedText("cursed ferry tide");
  candidates[4].embedding.clear();
  candidates[3].embedding.assign(candidates[0].embedding.size(), kNan);
  RagMaskOptions options;
  options.mask_length_tokens = 1;
  options.delta = 0.9;
  options.examine = MaskExamine::kReachable;
  const auto defence = RagMask::create(options, *failing, nullptr);
  ASSERT_TRUE(defence.ok());
  const auto report = (*defence)->examine_reachable(query_, candidates, 1, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  // The nearest one fails and does not count; the one after it is above all others, whose similarity is known.
  const auto& judgements = report->judgements;
  EXPECT_TRUE(judgements[0].examined && judgements[0].failure);
  EXPECT_TRUE(judgements[1].examined && !judgements[1].failure);
  EXPECT_FALSE(judgements[2].examined);
  EXPECT_TRUE(judgements[3].examined && judgements[3].embedding_replaced);
  EXPECT_TRUE(judgements[4].examined && judgements[4].embedding_replaced);
  const auto ranking = (*defence)->rank(query_, candidates, 1, {});
  ASSERT_TRUE(ranking.ok());
  ASSERT_EQ(ranking->passages.size(), 1U);
  EXPECT_EQ(ranking->passages[0].candidate, 1U);
  EXPECT_TRUE((*defence)->examine_reachable(query_, {}, 3, {})->judgements.empty());
  EXPECT_FALSE((*defence)->examine_reachable(query_, candidates, 0, {})->judgements[1].examined);
  EXPECT_EQ((*defence)->examine_reachable(query_, candidates, 9, {})->costs.backward_tokens, 0U);
}

/// Keeps values damaged in one of several ways.
class DamagedCache final : public PassageCache {
 public:
  explicit DamagedCache(int way) : way_(way) {}
  std::optional<std::string> get(std::string_view, const Digest&, std::string_view key) override {
    const auto found = values_.find(std::string(key));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void put(std::string_view, std::span<const CacheEntry> entries) override {
    for (const CacheEntry& entry : entries) {
      std::string value = entry.value;
      if (way_ == 0) value.clear();
      if (way_ == 1) value.pop_back();
      if (way_ == 2) value.replace(value.size() - 4, 4, "\xff\xff\xff\xff");  // a float that is not a number
      if (way_ == 3) value.replace(0, std::min<std::size_t>(value.size(), 24), std::string(24, '\xff'));  // counts
      if (way_ == 4 && value.size() > 48) value.replace(40, 8, std::string(8, '\x7f'));  // a span outside the text
      values_[entry.key] = value;
    }
  }
  PassageCacheCounts counts() const override { return {}; }

 private:
  int way_;
  std::map<std::string, std::string> values_;
};

TEST_F(RagMaskHostile, DamagedCacheValuesCountAsAbsent) {
  RagMaskOptions options;
  options.mask_length_tokens = 2;
  candidates_ = ranked_candidates(*encoder_, query_.embedding, {"ferry tide lamp stone plum", "salt tide river"});
  const auto plain = (*RagMask::create(options, *encoder_, nullptr))->examine(query_, candidates_, {});
  ASSERT_TRUE(plain.ok());
  for (const int way : {0, 1, 2, 3, 4}) {
    DamagedCache cache(way);
    const auto defence = RagMask::create(options, *encoder_, &cache);
    for (int time = 0; time < 2; ++time) {
      const auto report = (*defence)->examine(query_, candidates_, {});
      ASSERT_TRUE(report.ok()) << way;
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        EXPECT_EQ(report->judgements[i].segments.size(), plain->judgements[i].segments.size());
        EXPECT_EQ(report->judgements[i].sanitised_similarity, plain->judgements[i].sanitised_similarity) << way;
      }
    }
  }
}

TEST_F(RagMaskHostile, BytesThatAreNotUtf8AreExaminedToo) {
  RagMaskOptions options;
  options.mask_length_tokens = 1;
  options.text_out = MaskTextOut::kSanitised;
  const auto ranking = rank(options, {"\xff\xfe ferry \xc3", "ferry\xe2\x82 tide"});
  EXPECT_EQ(ranking.passages.size(), 2U);
}

TEST_F(RagMaskHostile, AStopIsObeyed) {
  const auto defence = RagMask::create({}, *encoder_, nullptr);
  std::stop_source source;
  source.request_stop();
  candidates_ = ranked_candidates(*encoder_, query_.embedding, {"ferry lamp"});
  const auto ranking = (*defence)->rank(query_, candidates_, 2, source.get_token());
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().code, ErrorCode::kCancelled);
}

TEST_F(RagMaskHostile, OptionsOutsideTheirRangeNameFieldAndRange) {
  const auto refused = [&](auto change, const char* field) {
    RagMaskOptions options;
    change(options);
    const auto made = RagMask::create(options, *encoder_, nullptr);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kInvalidOption);
    EXPECT_NE(made.error().message.find(field), std::string::npos) << made.error().message;
  };
  refused([](RagMaskOptions& o) { o.mask_length_tokens = 0; }, "mask_length_tokens is 0, it must be in 1 to 512");
  refused([](RagMaskOptions& o) { o.delta = -0.1; }, "delta");
  refused([](RagMaskOptions& o) { o.delta = static_cast<double>(kNan); }, "delta");
  refused([](RagMaskOptions& o) { o.delta_relative = 1.5; }, "delta_relative");
  refused([](RagMaskOptions& o) { o.pool_factor = 0; }, "pool_factor");
  refused([](RagMaskOptions& o) { o.screen_share = 2; }, "screen_share");
  refused([](RagMaskOptions& o) { o.screen_exact = 0; }, "screen_exact");
  refused([](RagMaskOptions& o) { o.screen = MaskScreen::kGradient; }, "needs an encoder with gradients");
}

}  // namespace
}  // namespace casemate
