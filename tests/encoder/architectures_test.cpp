// Every architecture and head with random tiny checkpoints, against a plain double-precision twin.
#include <gtest/gtest.h>

#include <cmath>

#include "casemate/encoder/bert_encoder.h"
#include "casemate/encoder/heads.h"
#include "casemate/text/tokenizer_loader.h"
#include "double_transformer.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using test::Matrix;

constexpr Architecture kAll[] = {Architecture::kBert, Architecture::kRoberta, Architecture::kXlmRoberta,
                                 Architecture::kDistilBert};
const std::string_view kTexts[] = {"the ferry waits for the tide", "a tide?", "", "ferry"};
const ThreadPool kPool(2);

std::vector<TokenId> framed(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<TokenId> ids(tokenizer.prefix().begin(), tokenizer.prefix().end());
  const Tokens tokens = tokenizer.tokenize(text, SpecialTokens::kAsText);
  ids.insert(ids.end(), tokens.ids.begin(), tokens.ids.end());
  ids.insert(ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
  return ids;
}

/// prefix + query + separator + passage + suffix, and the types of BERT.
std::pair<std::vector<TokenId>, std::vector<TokenId>> paired(const Tokenizer& tokenizer, std::string_view first,
                                                             std::string_view second, bool typed) {
  std::vector<TokenId> ids(tokenizer.prefix().begin(), tokenizer.prefix().end());
  const auto append = [&](std::span<const TokenId> more) { ids.insert(ids.end(), more.begin(), more.end()); };
  append(tokenizer.tokenize(first, SpecialTokens::kAsText).ids);
  append(tokenizer.pair_separator());
  const std::size_t border = ids.size();
  append(tokenizer.tokenize(second, SpecialTokens::kAsText).ids);
  append(tokenizer.suffix());
  std::vector<TokenId> types;
  if (typed) {
    types.assign(border, 0);
    types.resize(ids.size(), 1);
  }
  return {ids, types};
}

void expect_near(std::span<const float> actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance);
}

TEST(Architectures, EmbeddingsEqualTheTwinForEachPoolingAndActivation) {
  for (const Architecture architecture : kAll) {
    for (const char* activation : {"gelu", "relu", "gelu_new"}) {
      const test::TemporaryFolder folder;
      const auto tiny = test::write_tiny_checkpoint(folder.root(), architecture, Head::kNone, false, activation);
      for (const Pooling pooling : {Pooling::kMean, Pooling::kCls}) {
        BertEncoderOptions options;
        options.pooling = pooling;
        options.normalize = false;
        const auto encoder = load_bert_encoder(folder.root(), options, kPool);
        ASSERT_TRUE(encoder.ok()) << encoder.error().message;
        const auto result = (*encoder)->encode(kTexts, {});
        ASSERT_TRUE(result.ok()) << result.error().message;
        for (std::size_t i = 0; i < std::size(kTexts); ++i) {
          const Matrix states = test::double_forward(tiny, framed((*encoder)->tokenizer(), kTexts[i]), {});
          std::vector<double> expected = states[0];
          if (pooling == Pooling::kMean) {
            for (std::size_t d = 0; d < expected.size(); ++d) {
              expected[d] = 0;
              for (const auto& state : states) expected[d] += state[d] / static_cast<double>(states.size());
            }
          }
          expect_near(result->embeddings.row(i), expected, 2e-5);
        }
      }
    }
  }
}

TEST(Architectures, PrefixesDifferForQueriesAndPassages) {
  const test::TemporaryFolder folder;
  test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kNone, false);
  BertEncoderOptions options;
  options.query_prefix = "the ";
  options.passage_prefix = "a ";
  const auto encoder = load_bert_encoder(folder.root(), options, kPool);
  ASSERT_TRUE(encoder.ok());
  const std::string_view text[] = {"tide"};
  const std::string_view with_prefix[] = {"the tide", "a tide"};
  const auto direct = (*encoder)->encode(with_prefix, {});
  const auto query = (*encoder)->encode_queries(text);
  const auto passage = (*encoder)->encode_passages(text);
  ASSERT_TRUE(direct.ok() && query.ok() && passage.ok());
  EXPECT_EQ(query->inputs[0].input_ids, direct->inputs[0].input_ids);
  EXPECT_EQ(passage->inputs[0].input_ids, direct->inputs[1].input_ids);
}

TEST(Architectures, RerankerScoresEqualTheTwin) {
  for (const Architecture architecture : kAll) {
    const test::TemporaryFolder folder;
    const auto tiny = test::write_tiny_checkpoint(folder.root(), architecture, Head::kSequenceClassification, true);
    const auto reranker = load_reranker(folder.root(), {}, kPool);
    ASSERT_TRUE(reranker.ok()) << reranker.error().message;
    const auto tokenizer = load_tokenizer(folder.root());
    ASSERT_TRUE(tokenizer.ok());
    const auto scores = (*reranker)->score("a tide?", kTexts);
    ASSERT_TRUE(scores.ok()) << scores.error().message;
    const bool bert = architecture == Architecture::kBert;
    const bool distil = architecture == Architecture::kDistilBert;
    for (std::size_t i = 0; i < std::size(kTexts); ++i) {
      const auto [ids, types] = paired(**tokenizer, "a tide?", kTexts[i], bert);
      std::vector<double> x = test::double_forward(tiny, ids, types)[0];
      x = test::double_linear(tiny, bert ? "pooler.dense" : distil ? "pre_classifier" : "classifier.dense", x);
      for (double& v : x) v = distil ? std::max(v, 0.0) : std::tanh(v);
      x = test::double_linear(tiny, bert || distil ? "classifier" : "classifier.out_proj", x);
      EXPECT_NEAR(static_cast<double>((*scores)[i]), x[0], 2e-5);
    }
  }
}

TEST(Architectures, TheReaderFindsTheBestSpanOfTheTwin) {
  for (const Architecture architecture : kAll) {
    const test::TemporaryFolder folder;
    const auto tiny = test::write_tiny_checkpoint(folder.root(), architecture, Head::kQuestionAnswering, true);
    const auto reader = load_extractive_reader(folder.root(), {}, kPool);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    const auto tokenizer = load_tokenizer(folder.root());
    ASSERT_TRUE(tokenizer.ok());
    const std::string_view passages[] = {"the tide waits", "ferry"};
    const auto spans = (*reader)->read("a?", passages);
    ASSERT_TRUE(spans.ok()) << spans.error().message;
    for (std::size_t p = 0; p < std::size(passages); ++p) {
      const auto [ids, types] = paired(**tokenizer, "a?", passages[p], architecture == Architecture::kBert);
      const Matrix states = test::double_forward(tiny, ids, types);
      const Tokens tokens = (*tokenizer)->tokenize(passages[p], SpecialTokens::kAsText);
      const std::size_t first = ids.size() - (*tokenizer)->suffix().size() - tokens.ids.size();
      double best = -1e30;
      TokenSpan expected;
      for (std::size_t s = 0; s < tokens.ids.size(); ++s) {
        for (std::size_t e = s; e < tokens.ids.size(); ++e) {
          const double score = test::double_linear(tiny, "qa_outputs", states[first + s])[0] +
                               test::double_linear(tiny, "qa_outputs", states[first + e])[1];
          if (score > best) {
            best = score;
            expected = {tokens.spans[s].begin, tokens.spans[e].end};
          }
        }
      }
      EXPECT_EQ((*spans)[p].begin, expected.begin);
      EXPECT_EQ((*spans)[p].end, expected.end);
      EXPECT_NEAR(static_cast<double>((*spans)[p].score), best, 2e-5);
    }
  }
}

TEST(Architectures, ALongPassageIsReadInWindows) {
  const test::TemporaryFolder folder;
  test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kQuestionAnswering, true);
  HeadOptions options;
  options.stride = 4;
  const auto reader = load_extractive_reader(folder.root(), options, kPool);
  ASSERT_TRUE(reader.ok());
  std::string text;
  for (int i = 0; i < 200; ++i) text += i % 7 == 0 ? "ferry " : "tide ";
  const std::string_view passages[] = {text};
  const auto spans = (*reader)->read("a?", passages);
  ASSERT_TRUE(spans.ok());
  EXPECT_LT((*spans)[0].begin, (*spans)[0].end);
  EXPECT_LE((*spans)[0].end, text.size());
  EXPECT_FALSE((*reader)->read(text, passages).ok());  // a question that fills the input
}

TEST(Architectures, AHeadThatIsNotThereIsNamed) {
  const test::TemporaryFolder folder;
  test::write_tiny_checkpoint(folder.root(), Architecture::kBert, Head::kNone, false);
  EXPECT_EQ(load_reranker(folder.root(), {}, kPool).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(load_extractive_reader(folder.root(), {}, kPool).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace casemate
