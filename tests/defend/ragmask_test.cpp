#include "casemate/defend/ragmask.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "casemate/defend/passage_cache.h"
#include "casemate/encoder/bert_encoder.h"
#include "mask_twin.h"
#include "pool.h"
#include "support/temporary_folder.h"
#include "support/tiny_checkpoint.h"
#include "testing/hash_encoder.h"

namespace casemate {
namespace {

using test::embed_query;
using test::mask_twin;
using test::ranked_candidates;

const std::string kWords[] = {"ferry", "tide", "lamp", "stone", "plum", "salt", "river", "copper", "hill", "winter"};

std::vector<std::string> random_texts(std::size_t count, std::size_t longest) {
  RandomStream random(11, "ragmask test");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text;
    const std::size_t words = 1 + random.below(longest);
    for (std::size_t w = 0; w < words; ++w) text += (w == 0 ? "" : " ") + kWords[random.below(std::size(kWords))];
    texts.push_back(text);
  }
  return texts;
}

DefenceQuery query_of(const Encoder& encoder, const std::string& text) {
  DefenceQuery query;
  query.text = UntrustedText(text);
  query.embedding = embed_query(encoder, text);
  return query;
}

std::unique_ptr<RagMask> make(const RagMaskOptions& options, const Encoder& encoder, PassageCache* cache = nullptr) {
  auto made = RagMask::create(options, encoder, cache);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *std::move(made);
}

/// A tiny BERT, a question, and `passages` random texts ranked for it.
struct TinyBertPool {
  explicit TinyBertPool(std::size_t passages) {
    test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kNone, false);
    auto loaded = load_bert_encoder(folder.root(), {}, pool);
    EXPECT_TRUE(loaded.ok());
    parts.encoder = *std::move(loaded);
    parts.query = query_of(*parts.encoder, "the ferry waits");
    parts.candidates = ranked_candidates(*parts.encoder, parts.query.embedding, random_texts(passages, 30));
  }

  test::TemporaryFolder folder;
  ThreadPool pool{2};
  struct {
    std::unique_ptr<DifferentiableEncoder> encoder;
    DefenceQuery query;
    std::vector<PassageCandidate> candidates;
  } parts;
};

void expect_equal_to_twin(const RagMaskOptions& options, const Encoder& encoder, std::size_t longest) {
  const DefenceQuery query = query_of(encoder, "copper ferry in winter");
  const auto candidates = ranked_candidates(encoder, query.embedding, random_texts(12, longest));
  const auto report = make(options, encoder)->examine(query, candidates, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto twin = mask_twin(options, encoder, query.embedding, candidates[i].text.bytes());
    const MaskJudgement& judgement = report->judgements[i];
    EXPECT_EQ(judgement.similarity, twin.similarity);
    ASSERT_EQ(judgement.segments.size(), twin.perturbed.size());
    std::vector<std::size_t> suspicious;
    for (std::size_t s = 0; s < twin.perturbed.size(); ++s) {
      EXPECT_EQ(judgement.segments[s].perturbed, twin.perturbed[s]);
      if (judgement.segments[s].suspicious) suspicious.push_back(s);
    }
    EXPECT_EQ(suspicious, twin.suspicious);
    EXPECT_EQ(judgement.sanitised_similarity, twin.sanitised_similarity);
  }
}

TEST(RagMask, EqualsTheTwinThatEmbedsEachMaskedTextByItself) {
  const auto hash = testing::make_hash_encoder();
  const test::TemporaryFolder folder;
  test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kNone, false);
  const ThreadPool pool(2);
  BertEncoderOptions with_prefix;
  with_prefix.passage_prefix = "the tide ";
  const auto tiny = load_bert_encoder(folder.root(), with_prefix, pool);
  ASSERT_TRUE(tiny.ok()) << tiny.error().message;
  for (const MaskAction perturb : {MaskAction::kMask, MaskAction::kDelete}) {
    for (const MaskAction sanitise : {MaskAction::kMask, MaskAction::kDelete}) {
      for (const int m : {1, 3, 10, 500}) {
        RagMaskOptions options;
        options.mask_length_tokens = m;
        options.perturb = perturb;
        options.sanitise = sanitise;
        options.delta = 0.05;
        expect_equal_to_twin(options, *hash, 40);
        expect_equal_to_twin(options, **tiny, 60);  // longer than the model's 40 positions
        options.delta_relative = 0.2;
        expect_equal_to_twin(options, *hash, 40);
      }
    }
  }
}

TEST(RagMask, ExaminingOnlyWhatCanReachTheFirstPGivesTheSameRankingForLess) {
  const auto encoder = testing::make_hash_encoder();
  RandomStream random(17, "reachable");
  std::size_t all_tokens = 0;
  std::size_t reachable_tokens = 0;
  int bounded_rounds = 0;
  for (int round = 0; round < 60; ++round) {
    RagMaskOptions options;
    options.mask_length_tokens = 1 + static_cast<int>(random.below(5));
    options.delta = random.uniform() * 0.3;
    options.perturb = options.sanitise = MaskAction::kDelete;
    const DefenceQuery query = query_of(*encoder, kWords[random.below(std::size(kWords))] + " ferry in winter");
    auto texts = random_texts(40, 25);
    texts.resize(20 + random.below(20));
    texts.push_back(texts[3]);  // equal scores
    const auto candidates = ranked_candidates(*encoder, query.embedding, texts);
    const int top_k = 1 + static_cast<int>(random.below(7));
    options.pool_factor = 100;
    const auto all = make(options, *encoder);
    options.examine = MaskExamine::kReachable;
    const auto reachable = make(options, *encoder);
    // What the bound rests on; where it fails the two may differ.
    const auto report = all->examine(query, candidates, {});
    ASSERT_TRUE(report.ok());
    const bool bounded = std::all_of(report->judgements.begin(), report->judgements.end(),
                                     [](const MaskJudgement& j) { return j.sanitised_similarity <= j.similarity; });
    const auto expected = all->rank(query, candidates, top_k, {});
    const auto found = reachable->rank(query, candidates, top_k, {});
    ASSERT_TRUE(expected.ok() && found.ok());
    if (bounded) {
      EXPECT_EQ(test::kept_ids(*found, candidates), test::kept_ids(*expected, candidates));
    }
    const auto judged = reachable->examine_reachable(query, candidates, top_k, {});
    ASSERT_TRUE(judged.ok());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const MaskJudgement& judgement = judged->judgements[i];
      EXPECT_EQ(judgement.similarity, report->judgements[i].similarity);
      if (judgement.examined) {
        EXPECT_EQ(judgement.sanitised_similarity, report->judgements[i].sanitised_similarity);
      } else {
        EXPECT_EQ(found->verdicts[i].decision, Decision::kDropped);
        EXPECT_TRUE(found->verdicts[i].reason.starts_with("not examined"));
      }
    }
    if (!bounded) continue;
    ++bounded_rounds;
    all_tokens += report->costs.forward_tokens;
    reachable_tokens += judged->costs.forward_tokens;
  }
  EXPECT_GT(bounded_rounds, 40);  // of 60
  EXPECT_GT(reachable_tokens, 0U);
  EXPECT_LT(reachable_tokens, all_tokens / 2);
}

TEST(RagMask, AQueryPlantedInAnotherTextIsMaskedAndFallsBelowATextAboutTheQuery) {
  const auto encoder = testing::make_hash_encoder();
  const DefenceQuery query = query_of(*encoder, "who painted the copper dome");
  const std::string poison = "who painted the copper dome plum jars like salt and cold cellars every single year";
  const std::string honest = "copper bowls and a dome stand where the rain was painted on stone by someone who left";
  const auto candidates = ranked_candidates(*encoder, query.embedding, {honest, poison});
  ASSERT_EQ(candidates[0].text.bytes(), poison);
  RagMaskOptions options;
  options.mask_length_tokens = 5;
  options.delta = 0.3;
  const auto ranking = make(options, *encoder)->rank(query, candidates, 1, {});
  ASSERT_TRUE(ranking.ok());
  EXPECT_EQ(test::kept_ids(*ranking, candidates), std::vector<ChunkId>{1});
  const Verdict& verdict = test::verdict_about(*ranking, 2);
  EXPECT_EQ(verdict.decision, Decision::kDropped);
  // The five words of the query, and nothing else.
  EXPECT_EQ(verdict.masked, (std::vector<CharacterSpan>{{0, 27}}));
  EXPECT_EQ(poison.substr(0, 27), "who painted the copper dome");
  EXPECT_GT(*verdict.score, *verdict.threshold);
}

TEST(RagMask, MaskedSpansCountCharactersAndTheSanitisedTextLeavesThemOut) {
  testing::HashEncoderOptions wide;  // other words are then nearly orthogonal to the query's
  wide.dimension = 1024;
  const auto encoder = testing::make_hash_encoder(wide);
  const DefenceQuery query = query_of(*encoder, "grüße ferry");
  const auto candidates = ranked_candidates(*encoder, query.embedding, {"ältere Hügel 🙂 grüße ferry plum salt"});
  RagMaskOptions options;
  options.mask_length_tokens = 2;
  options.delta = 0.1;
  options.text_out = MaskTextOut::kSanitised;
  // Segments: "ältere Hügel", "🙂 grüße", "ferry plum", "salt"; the two in the middle hold the query's words.
  for (const auto& [action, expected] :
       {std::pair<MaskAction, std::string>{MaskAction::kMask, "ältere Hügel [...] salt"},
        {MaskAction::kDelete, "ältere Hügel   salt"}}) {
    options.sanitise = action;
    const auto ranking = make(options, *encoder)->rank(query, candidates, 3, {});
    ASSERT_TRUE(ranking.ok());
    ASSERT_EQ(ranking->passages.size(), 1U);
    EXPECT_EQ(ranking->verdicts[0].decision, Decision::kMasked);
    EXPECT_EQ(ranking->verdicts[0].masked, (std::vector<CharacterSpan>{{13, 31}}));
    ASSERT_TRUE(ranking->passages[0].text_out.has_value());
    EXPECT_EQ(ranking->passages[0].text_out->bytes(), expected);
  }
}

TEST(RagMask, TheCacheChangesNoBitAndSparesTheEncoder) {
  const auto encoder = testing::make_hash_encoder();
  const DefenceQuery query = query_of(*encoder, "copper ferry in winter");
  const auto candidates = ranked_candidates(*encoder, query.embedding, random_texts(20, 60));
  RagMaskOptions options;
  options.delta = 0.05;
  const auto plain = make(options, *encoder)->examine(query, candidates, {});
  const auto cache = make_memory_passage_cache();
  ASSERT_TRUE(plain.ok() && cache.ok());
  const auto cached = make(options, *encoder, cache->get());
  for (const bool first : {true, false}) {
    const auto report = cached->examine(query, candidates, {});
    ASSERT_TRUE(report.ok());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      EXPECT_EQ(report->judgements[i].sanitised_similarity, plain->judgements[i].sanitised_similarity);
      for (std::size_t s = 0; s < plain->judgements[i].segments.size(); ++s)
        EXPECT_EQ(report->judgements[i].segments[s].perturbed, plain->judgements[i].segments[s].perturbed);
    }
    EXPECT_EQ(report->costs.forward_tokens == 0, !first);
  }
  // A new query costs at most one forward pass of each passage that lost a segment.
  const DefenceQuery other = query_of(*encoder, "salt and stone");
  const auto report = cached->examine(other, candidates, {});
  ASSERT_TRUE(report.ok());
  std::size_t most = 0;
  for (const MaskJudgement& judgement : report->judgements) {
    if (judgement.suspicious() > 0) most += judgement.tokens + 2;
  }
  EXPECT_LE(report->costs.forward_tokens, most);
}

TEST(RagMask, PrecomputedPassagesNeedNoMaskEmbeddingsAtQueryTime) {
  const auto encoder = testing::make_hash_encoder();
  const DefenceQuery query = query_of(*encoder, "copper ferry in winter");
  const auto candidates = ranked_candidates(*encoder, query.embedding, random_texts(70, 30));
  const auto cache = make_memory_passage_cache();
  ASSERT_TRUE(cache.ok());
  RagMaskOptions options;
  options.delta = 1000;  // nothing is suspicious, so nothing is embedded anew
  const auto defence = make(options, *encoder, cache->get());
  const auto made = defence->precompute(query.tenant, candidates, {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, candidates.size());
  EXPECT_EQ(*defence->precompute(query.tenant, candidates, {}), 0U);
  EXPECT_EQ(defence->examine(query, candidates, {})->costs.forward_tokens, 0U);
  // Another tenant shares nothing, another mask length neither.
  DefenceQuery elsewhere = query;
  elsewhere.tenant = "other";
  EXPECT_GT(defence->examine(elsewhere, candidates, {})->costs.forward_tokens, 0U);
  options.mask_length_tokens = 9;
  EXPECT_GT(make(options, *encoder, cache->get())->examine(query, candidates, {})->costs.forward_tokens, 0U);
}

TEST(RagMask, WhatCanBeReachedMayBeScreenedToo) {
  const TinyBertPool tiny(15);
  const auto& [encoder, query, candidates] = tiny.parts;
  RagMaskOptions options;
  options.mask_length_tokens = 4;
  options.perturb = options.sanitise = MaskAction::kDelete;
  options.delta = 1e-3;
  options.screen = MaskScreen::kGradient;
  options.screen_exact = 10000;
  options.screen_share = 0;
  const auto all = make(options, *encoder)->examine(query, candidates, {});
  options.examine = MaskExamine::kReachable;
  const auto reachable = make(options, *encoder)->examine_reachable(query, candidates, 3, {});
  ASSERT_TRUE(all.ok() && reachable.ok());
  std::size_t examined = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!reachable->judgements[i].examined) continue;
    ++examined;
    EXPECT_EQ(reachable->judgements[i].sanitised_similarity, all->judgements[i].sanitised_similarity);
  }
  EXPECT_GE(examined, 3U);
  EXPECT_LT(reachable->costs.backward_tokens, all->costs.backward_tokens);
}

TEST(RagMask, AResultDoesNotDependOnTheRestOfThePool) {
  const TinyBertPool tiny(15);
  const auto& [encoder, query, candidates] = tiny.parts;
  for (const MaskScreen screen : {MaskScreen::kNone, MaskScreen::kGradient}) {
    RagMaskOptions options;
    options.mask_length_tokens = 4;
    options.screen = screen;
    const auto defence = make(options, *encoder);
    const auto together = defence->examine(query, candidates, {});
    ASSERT_TRUE(together.ok());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto alone = defence->examine(query, std::span(candidates).subspan(i, 1), {});
      ASSERT_TRUE(alone.ok());
      EXPECT_EQ(alone->judgements[0].sanitised_similarity, together->judgements[i].sanitised_similarity);
    }
  }
}

TEST(RagMask, ScreeningThatMayEmbedEverythingGivesTheExactResult) {
  const TinyBertPool tiny(10);
  const auto& [encoder, query, candidates] = tiny.parts;
  RagMaskOptions options;
  options.mask_length_tokens = 4;
  options.screen_share = 0;
  options.screen_exact = 10000;
  for (const MaskAction action : {MaskAction::kMask, MaskAction::kDelete}) {
    options.perturb = options.sanitise = action;
    options.screen = MaskScreen::kNone;
    const auto exact = make(options, *encoder)->examine(query, candidates, {});
    options.screen = MaskScreen::kGradient;
    const auto screened = make(options, *encoder)->examine(query, candidates, {});
    ASSERT_TRUE(exact.ok() && screened.ok());
    EXPECT_GT(screened->costs.backward_tokens, 0U);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      for (std::size_t s = 0; s < exact->judgements[i].segments.size(); ++s) {
        const SegmentJudgement& segment = screened->judgements[i].segments[s];
        // When deleting, what was predicted to rise is not worth embedding.
        EXPECT_TRUE(segment.exact || (action == MaskAction::kDelete && segment.perturbed > candidates[i].score));
        if (segment.exact) {
          EXPECT_EQ(segment.perturbed, exact->judgements[i].segments[s].perturbed);
        }
      }
    }
  }
}

TEST(RagMask, ScreeningEmbedsAtMostWhatItMayAndUsesTheCacheWhereThatHasAll) {
  const TinyBertPool tiny(10);
  const auto& [encoder, query, candidates] = tiny.parts;
  RagMaskOptions options;
  options.mask_length_tokens = 3;
  options.screen = MaskScreen::kGradient;
  options.screen_exact = 2;
  const auto cache = make_memory_passage_cache();
  ASSERT_TRUE(cache.ok());
  const auto defence = make(options, *encoder, cache->get());
  const auto screened = defence->examine(query, candidates, {});
  ASSERT_TRUE(screened.ok());
  for (const MaskJudgement& judgement : screened->judgements) {
    const auto exact = std::count_if(judgement.segments.begin(), judgement.segments.end(),
                                     [](const SegmentJudgement& s) { return s.exact; });
    EXPECT_EQ(static_cast<std::size_t>(exact), std::min<std::size_t>(judgement.segments.size(), 2));
  }
  ASSERT_TRUE(defence->precompute(query.tenant, candidates, {}).ok());
  const auto cached = defence->examine(query, candidates, {});
  ASSERT_TRUE(cached.ok());
  EXPECT_EQ(cached->costs.backward_tokens, 0U);
  for (const MaskJudgement& judgement : cached->judgements) {
    for (const SegmentJudgement& segment : judgement.segments) EXPECT_TRUE(segment.exact);
  }
}

}  // namespace
}  // namespace casemate
