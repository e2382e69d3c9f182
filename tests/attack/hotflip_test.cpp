// HotFlip against a linear encoder, for which the best token in each place is known without a search.
#include "casemate/attack/hotflip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "bag_encoder.h"
#include "casemate/attack/attacks.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/core/progress.h"
#include "casemate/core/thread_pool.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using test::BagEncoder;

/// Words of one token each, and what must never be proposed: special, reserved and unprintable tokens.
std::vector<std::string> pieces() {
  std::vector<std::string> out = {"[PAD]",     "[UNK]", "[CLS]",        "[SEP]", "[MASK]",
                                  "[unused1]", "\x01",  "\xEE\x80\x80", "##ing"};
  for (const char* word : {"river", "bridge", "old", "lamp", "tax", "toll", "who", "planned", "the", "when", "sand",
                           "glass", "crow", "ship", "?", "."})
    out.emplace_back(word);
  return out;
}

struct Corpus {
  Corpus() {
    for (int i = 0; i < 6; ++i) {
      std::string text;
      for (int w = 0; w < 12; ++w) {
        static const char* const kWords[] = {"river", "old", "lamp", "toll", "sand", "glass", "ship"};
        text += std::string(w == 0 ? "" : " ") + kWords[(i * 5 + w * 3) % 7];
      }
      passages.push_back({"p" + std::to_string(i), UntrustedText("t"), UntrustedText(text)});
    }
    targets.push_back({"q0", UntrustedText("who planned the bridge ?"), "p0", {}});
    targets.push_back({"q1", UntrustedText("when the toll ?"), "p1", {}});
  }
  std::vector<CorpusPassage> passages;
  std::vector<AttackTarget> targets;
};

CraftedAttack craft(const HotFlipOptions& options, const Corpus& corpus, const AttackTools& tools,
                    std::uint64_t seed = 1) {
  const auto attack = HotFlip::create(options);
  EXPECT_TRUE(attack.ok()) << attack.error().message;
  auto crafted = (*attack)->craft({corpus.passages, corpus.targets, seed, tools}, {});
  EXPECT_TRUE(crafted.ok()) << crafted.error().message;
  return *std::move(crafted);
}

HotFlipOptions small() {
  HotFlipOptions options;
  options.tokens = 4;
  options.iterations = 12;
  options.candidates = 32;
  options.batch = 32;
  return options;
}

double similarity(const BagEncoder& encoder, const std::string& query, const std::string& text) {
  const std::string_view one = query;
  const std::string_view other = text;
  const auto q = encoder.encode_queries(std::span(&one, 1))->embeddings.values;
  const auto p = encoder.encode_passages(std::span(&other, 1))->embeddings.values;
  return std::inner_product(q.begin(), q.end(), p.begin(), 0.0);
}

/// The token that may be written and has the largest inner product with the query.
std::string best_word(const BagEncoder& encoder, const std::string& query) {
  const std::string_view one = query;
  const auto q = encoder.encode_queries(std::span(&one, 1))->embeddings.values;
  double best = -std::numeric_limits<double>::infinity();
  std::string out;
  for (TokenId id = 9; id < static_cast<TokenId>(pieces().size()); ++id) {  // the ordinary words
    const auto row =
        encoder.word_embeddings().subspan(static_cast<std::size_t>(id) * BagEncoder::kWidth, BagEncoder::kWidth);
    const double product = std::inner_product(q.begin(), q.end(), row.begin(), 0.0);
    if (product > best) {
      best = product;
      out = encoder.tokenizer().piece(id);
    }
  }
  return out;
}

TEST(HotFlip, FindsTheBestTokenForEveryPlaceOfALinearEncoder) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  for (const FlipPlace place : {FlipPlace::kPrefix, FlipPlace::kMiddle, FlipPlace::kSuffix, FlipPlace::kSpread}) {
    HotFlipOptions options = small();
    options.place = place;
    const auto crafted = craft(options, corpus, {&encoder});
    ASSERT_EQ(crafted.documents.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) {
      const CraftedDocument& document = crafted.documents[i];
      const std::string best = best_word(encoder, corpus.targets[i / 3].query.bytes());
      ASSERT_TRUE(document.trace);
      ASSERT_EQ(document.trace->tokens.size(), 4U);
      for (const ChangedToken& token : document.trace->tokens) EXPECT_EQ(token.piece, best);
      const std::string& text = document.text.bytes();
      const auto& source = std::find_if(corpus.passages.begin(), corpus.passages.end(),
                                        [&](const CorpusPassage& each) { return each.id == document.source_document; });
      const std::string block = best + " " + best + " " + best + " " + best;
      if (place == FlipPlace::kPrefix) {
        EXPECT_EQ(text, block + " " + source->text.bytes());
      }
      if (place == FlipPlace::kSuffix) {
        EXPECT_EQ(text, source->text.bytes() + " " + block);
      }
      if (place == FlipPlace::kMiddle) {
        // Before the seventh of twelve words.
        const auto before = text.substr(0, text.find(block));
        EXPECT_EQ(std::count(before.begin(), before.end(), ' '), 6) << text;
      }
      const auto& tokens = document.trace->tokens;
      for (std::size_t t = 1; place == FlipPlace::kSpread && t < tokens.size(); ++t)
        EXPECT_GT(tokens[t].character, tokens[t - 1].character + best.size() + 1) << text;
    }
  }
}

TEST(HotFlip, NeverProposesSpecialReservedOrUnprintableTokensHoweverGoodTheyWouldBe) {
  BagEncoder encoder(pieces());
  const Corpus corpus;
  const std::string_view query = corpus.targets[0].query.bytes();
  const auto q = encoder.encode_queries(std::span(&query, 1))->embeddings.values;
  // [MASK], [unused1], a control character, a private-use character, and a piece that only continues words.
  for (TokenId id = 4; id <= 8; ++id) {
    for (std::size_t d = 0; d < q.size(); ++d) encoder.row(id)[d] = 100 * q[d];
  }
  for (const CraftedDocument& document : craft(small(), corpus, {&encoder}).documents) {
    for (const ChangedToken& token : document.trace->tokens) {
      EXPECT_TRUE(token.token >= 8) << token.piece;
      // "##ing" may end a word: its text must then give it back.
      if (token.token != 8) continue;
      EXPECT_EQ(document.text.bytes().substr(token.character, 3), "ing");
    }
  }
}

TEST(HotFlip, ReadingTheTextGivesTheTokensAndTheSimilarityThatWereOptimised) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  for (const FlipGoal goal : {FlipGoal::kSimilarity, FlipGoal::kRagPart, FlipGoal::kRagMask}) {
    HotFlipOptions options = small();
    options.goal = goal;
    options.fragments = 3;
    options.mask_length_tokens = 4;
    for (const CraftedDocument& document : craft(options, corpus, {&encoder}).documents) {
      const AttackTarget& target = corpus.targets[document.target_queries[0] == "q0" ? 0 : 1];
      EXPECT_NEAR(document.trace->similarity, similarity(encoder, target.query.bytes(), document.text.bytes()), 1e-5);
      if (goal == FlipGoal::kSimilarity) {
        EXPECT_NEAR(document.trace->objective.back(), document.trace->similarity, 1e-5);
      }
      const Tokens read = encoder.tokenizer().tokenize(document.text.bytes(), SpecialTokens::kAsText);
      for (const ChangedToken& token : document.trace->tokens) {
        const auto at = std::find_if(read.spans.begin(), read.spans.end(),
                                     [&](const TokenSpan& span) { return span.begin == token.character; });
        ASSERT_NE(at, read.spans.end());
        EXPECT_EQ(read.ids[static_cast<std::size_t>(at - read.spans.begin())], token.token);
      }
      EXPECT_EQ(document.note, "");
    }
  }
}

TEST(HotFlip, TheObjectiveNeverFallsAndHasOneValueAnIteration) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  HotFlipOptions options = small();
  options.candidates = 3;
  options.batch = 1;
  for (const FlipGoal goal : {FlipGoal::kSimilarity, FlipGoal::kRagPart, FlipGoal::kRagMask}) {
    options.goal = goal;
    for (const CraftedDocument& document : craft(options, corpus, {&encoder}).documents) {
      const auto& values = document.trace->objective;
      ASSERT_EQ(values.size(), 13U);
      EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
      EXPECT_GT(values.back(), values.front());
      EXPECT_GT(document.trace->forward_tokens, 0U);
      EXPECT_GT(document.trace->backward_tokens, 0U);
    }
  }
}

TEST(HotFlip, ALongerRunBeginsWithTheShorterOneAndACacheChangesNothingButTheCost) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  const test::TemporaryFolder folder;
  HotFlipOptions options = small();
  options.candidates = 2;
  options.batch = 1;
  const auto records = [&](int iterations, CraftCache* cache) {
    options.iterations = iterations;
    const auto attack = HotFlip::create(options);
    std::string out;
    for (const CraftedDocument& document : craft(options, corpus, {&encoder, nullptr, nullptr, cache}).documents)
      out += attack_record_json(**attack, document) + "\n";
    return out;
  };
  const std::string three = records(3, nullptr);
  const std::string nine = records(9, nullptr);
  EXPECT_NE(three, nine);
  {
    auto cache = open_craft_cache(folder.path("crafted.jsonl"));
    ASSERT_TRUE(cache.ok());
    EXPECT_EQ(records(3, cache->get()), three);
    EXPECT_EQ(records(9, cache->get()), nine);
    EXPECT_EQ(records(3, cache->get()), three);
  }
  auto cache = open_craft_cache(folder.path("crafted.jsonl"));
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ(records(9, cache->get()), nine);
}

TEST(HotFlip, ThreadsAndAStopInBetweenDoNotChangeWhatIsMadeAnotherSeedDoes) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  const test::TemporaryFolder folder;
  HotFlipOptions options = small();
  options.candidates = 2;
  options.batch = 1;
  const auto attack = HotFlip::create(options);
  const auto text_of = [&](const CraftedAttack& crafted) {
    std::string out;
    for (const CraftedDocument& each : crafted.documents) out += attack_record_json(**attack, each) + "\n";
    return out;
  };
  const std::string once = text_of(craft(options, corpus, {&encoder}));
  const ThreadPool pool(2);
  EXPECT_EQ(text_of(craft(options, corpus, {&encoder, nullptr, nullptr, nullptr, &pool})), once);
  EXPECT_NE(text_of(craft(options, corpus, {&encoder}, 2)), once);

  class Stopping final : public Progress {
   public:
    void begin(std::string_view, std::uint64_t, std::string_view) override {}
    void update(std::uint64_t done) override {
      if (done >= 17) stop.request_stop();
    }
    void note(std::string_view) override {}
    void end() override {}
    std::stop_source stop;
  } progress;
  auto cache = open_craft_cache(folder.path("crafted.jsonl"));
  ASSERT_TRUE(cache.ok());
  const auto stopped = (*attack)->craft(
      {corpus.passages, corpus.targets, 1, {&encoder, nullptr, nullptr, cache->get(), nullptr, &progress}},
      progress.stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(text_of(craft(options, corpus, {&encoder, nullptr, nullptr, cache->get()})), once);
}

TEST(HotFlip, HostileInputHasADefinedResult) {
  const BagEncoder encoder(pieces(), 20);
  Corpus corpus;
  std::string long_text;
  for (int i = 0; i < 512; ++i) long_text += "ship ";
  for (CorpusPassage& passage : corpus.passages) passage.text = UntrustedText(long_text);
  std::string long_query;
  for (int i = 0; i < 300; ++i) long_query += "tax ";
  corpus.targets = {{"empty", UntrustedText(" \n"), "p0", {}},
                    {"long", UntrustedText(long_query), "p0", {}},
                    {"unknown", UntrustedText("\xE2\x98\x83\xE2\x98\x83"), "p0", {}}};
  HotFlipOptions options = small();
  options.documents_per_query = 1;
  for (const FlipPlace place : {FlipPlace::kPrefix, FlipPlace::kMiddle, FlipPlace::kSuffix, FlipPlace::kSpread}) {
    options.place = place;
    const auto crafted = craft(options, corpus, {&encoder});
    ASSERT_EQ(crafted.documents.size(), 3U);
    EXPECT_EQ(crafted.fell_back, 2U);
    EXPECT_EQ(crafted.documents[0].note, "the query is empty: a plain copy");
    EXPECT_EQ(crafted.documents[0].text.bytes(), long_text);
    EXPECT_TRUE(crafted.documents[2].fell_back);
    const CraftedDocument& reached = crafted.documents[1];
    EXPECT_EQ(reached.note, "the query is longer than the retriever reads");
    // All four tokens are where the retriever reads them.
    for (const ChangedToken& token : reached.trace->tokens) EXPECT_EQ(token.piece, best_word(encoder, long_query));
  }
  // More tokens than the retriever reads at all.
  options.place = FlipPlace::kPrefix;
  options.tokens = 40;
  const auto crafted = craft(options, corpus, {&encoder});
  EXPECT_NE(crafted.documents[1].note.find("beyond what the retriever reads"), std::string::npos);
}

TEST(HotFlip, AnEmptyDocumentIsNothingButPoison) {
  const BagEncoder encoder(pieces());
  Corpus corpus;
  for (CorpusPassage& passage : corpus.passages) passage.text = UntrustedText("");
  for (const FlipGoal goal : {FlipGoal::kSimilarity, FlipGoal::kRagPart, FlipGoal::kRagMask}) {
    HotFlipOptions options = small();
    options.goal = goal;
    options.place = FlipPlace::kSpread;
    for (const CraftedDocument& document : craft(options, corpus, {&encoder}).documents)
      EXPECT_EQ(document.trace->tokens.size(), 4U);
  }
}

TEST(HotFlip, OpenPlacesOfAMaskStartAreLeftOutOfTheText) {
  const BagEncoder encoder(pieces());
  const Corpus corpus;
  HotFlipOptions options = small();
  options.start = FlipStart::kMask;
  options.iterations = 3;
  for (const CraftedDocument& document : craft(options, corpus, {&encoder}).documents) {
    EXPECT_EQ(document.trace->tokens.size(), 3U);
    EXPECT_EQ(document.note, "1 places were still open and are left out");
    EXPECT_EQ(document.text.bytes().find("mask"), std::string::npos);
  }
  options.iterations = 8;
  for (const CraftedDocument& document : craft(options, corpus, {&encoder}).documents) {
    EXPECT_EQ(document.trace->tokens.size(), 4U);
    EXPECT_NEAR(document.trace->objective.back(), document.trace->similarity, 1e-5);
  }
}

TEST(HotFlip, ClustersShareDocumentsAndEveryQueryIsInOne) {
  const BagEncoder encoder(pieces());
  Corpus corpus;
  for (int i = 0; i < 4; ++i) {
    corpus.targets.push_back({"a" + std::to_string(i), UntrustedText("who planned the bridge ?"), "p0", {}});
    corpus.targets.push_back({"b" + std::to_string(i), UntrustedText("crow glass glass sand"), "p1", {}});
  }
  corpus.targets.erase(corpus.targets.begin(), corpus.targets.begin() + 2);
  HotFlipOptions options = small();
  options.clusters = 2;
  options.documents_per_query = 2;
  const auto crafted = craft(options, corpus, {&encoder});
  ASSERT_EQ(crafted.documents.size(), 4U);
  EXPECT_EQ(crafted.documents[0].target_queries, (std::vector<std::string>{"a0", "a1", "a2", "a3"}));
  EXPECT_EQ(crafted.documents[2].target_queries, (std::vector<std::string>{"b0", "b1", "b2", "b3"}));
  for (const CraftedDocument& document : crafted.documents)
    EXPECT_NE(document.source_document, document.target_queries[0] == "a0" ? "p0" : "p1");
}

TEST(HotFlip, BadOptionsAndMissingToolsAreNamed) {
  for (const char* text : {"{tokens: 0}", "{iterations: -1}", "{candidates: 4, batch: 5}", "{place: top}",
                           "{start: random}", "{clusters: -1}", "{token: 3}"})
    EXPECT_FALSE(create_attack({"hotflip", text}).ok()) << text;
  EXPECT_FALSE(create_attack({"hotflip-ragpart", "{fragments: 4, poisoned_fragments: 5}"}).ok());
  EXPECT_FALSE(create_attack({"hotflip-ragpart", "{unit: line}"}).ok());
  EXPECT_FALSE(create_attack({"hotflip-ragmask", "{perturb: hide}"}).ok());
  EXPECT_FALSE(create_attack({"hotflip-spread", "{place: prefix}"}).ok());
  EXPECT_TRUE(create_attack({"hotflip", "{candidates: 4}"}).ok());
  const Corpus corpus;
  const auto attack = create_attack({"hotflip", "{}"});
  EXPECT_EQ((*attack)->craft({corpus.passages, corpus.targets, 1}, {}).error().code, ErrorCode::kUnsupported);
}

TEST(CraftCache, ATornLastLineIsCutOffAndOtherDamageIsNamed) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("cache.jsonl");
  {
    auto cache = open_craft_cache(path);
    ASSERT_TRUE((*cache)->put("a", "1").ok());
    ASSERT_TRUE((*cache)->put("b", "2").ok());
    ASSERT_TRUE((*cache)->put("a", "3").ok());
  }
  std::FILE* file = std::fopen(path.c_str(), "ab");
  std::fputs("{\"key\":\"c\",\"val", file);
  std::fclose(file);
  {
    auto cache = open_craft_cache(path);
    ASSERT_TRUE(cache.ok()) << cache.error().message;
    EXPECT_EQ((*cache)->find("a"), "3");
    EXPECT_EQ((*cache)->find("b"), "2");
    EXPECT_FALSE((*cache)->find("c"));
    ASSERT_TRUE((*cache)->put("c", "4").ok());
  }
  EXPECT_EQ((*open_craft_cache(path))->find("c"), "4");
  file = std::fopen(path.c_str(), "ab");
  std::fputs("nonsense\n", file);
  std::fclose(file);
  const auto broken = open_craft_cache(path);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("cache.jsonl:5"), std::string::npos) << broken.error().message;
}

}  // namespace
}  // namespace casemate
