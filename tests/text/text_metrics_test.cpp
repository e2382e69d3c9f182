// Text metrics against tests/golden/text_metrics.json (rouge_score, sacrebleu, rapidfuzz; definitions in the file).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "casemate/text/answer_match.h"
#include "casemate/text/bleu.h"
#include "casemate/text/edit_distance.h"
#include "casemate/text/rouge.h"
#include "support/paths.h"
#include "text/lower_words.h"

namespace casemate {
namespace {

using Json = nlohmann::json;
constexpr double kTolerance = 1e-9;

const Json& golden() {
  static const Json all = Json::parse(std::ifstream(test::golden_path("text_metrics.json")));
  return all;
}

std::string prediction(const Json& pair) { return pair.at("prediction").get<std::string>(); }
std::vector<std::string> references(const Json& pair) { return pair.at("references").get<std::vector<std::string>>(); }

template <class Function>
double best_of(const Json& pair, Function function) {
  double best = 0;
  for (const std::string& reference : references(pair)) best = std::max(best, function(prediction(pair), reference));
  return best;
}

TEST(TextMetrics, GoldenPairsAreThere) { EXPECT_EQ(golden().at("pairs").size(), 55U); }

TEST(TextMetrics, ExactMatchAndTokenF1AreSquads) {
  for (const Json& pair : golden().at("pairs")) {
    const Json& squad = pair.at("squad");
    EXPECT_NEAR(best_of(pair, exact_match), squad.at("exact_match").get<double>(), kTolerance) << pair.at("id");
    EXPECT_NEAR(best_of(pair, token_f1), squad.at("f1").get<double>(), kTolerance) << pair.at("id");
    if (!squad.contains("normalized_prediction")) continue;
    EXPECT_EQ(normalize_answer(prediction(pair)), squad.at("normalized_prediction").get<std::string>())
        << pair.at("id");
  }
}

void expect_rouge(const RougeScore& ours, const Json& theirs, const Json& id) {
  EXPECT_NEAR(ours.precision, theirs.at("precision").get<double>(), kTolerance) << id;
  EXPECT_NEAR(ours.recall, theirs.at("recall").get<double>(), kTolerance) << id;
  EXPECT_NEAR(ours.f, theirs.at("f").get<double>(), kTolerance) << id;
}

TEST(TextMetrics, RougeIsRougeScores) {
  for (const Json& pair : golden().at("pairs")) {
    const auto predicted = rouge_words(prediction(pair));
    const auto expected = rouge_words(references(pair).at(0));
    const Json& first = pair.at("rouge").at("first");
    expect_rouge(rouge_n(predicted, expected, 1), first.at("rouge1"), pair.at("id"));
    expect_rouge(rouge_n(predicted, expected, 2), first.at("rouge2"), pair.at("id"));
    expect_rouge(rouge_l(predicted, expected), first.at("rougeL"), pair.at("id"));
  }
}

void expect_bleu(const BleuCounts& counts, const BleuScore& score, const Json& theirs, const Json& id) {
  EXPECT_NEAR(score.score, theirs.at("score").get<double>(), 1e-9) << id;
  EXPECT_NEAR(score.brevity_penalty, theirs.at("bp").get<double>(), kTolerance) << id;
  EXPECT_EQ(counts.predicted_length, theirs.at("sys_len").get<std::size_t>()) << id;
  EXPECT_EQ(counts.reference_length, theirs.at("ref_len").get<std::size_t>()) << id;
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(counts.correct[n], theirs.at("counts").at(n).get<std::size_t>()) << id;
    EXPECT_EQ(counts.total[n], theirs.at("totals").at(n).get<std::size_t>()) << id;
    EXPECT_NEAR(score.precisions[n], theirs.at("precisions").at(n).get<double>(), 1e-9) << id;
  }
}

TEST(TextMetrics, SentenceBleuIsSacrebleus) {
  for (const Json& pair : golden().at("pairs")) {
    const auto all = references(pair);
    const auto first = bleu_counts(prediction(pair), std::span(all).first(1));
    expect_bleu(first, bleu(first, true), pair.at("bleu_sentence").at("first"), pair.at("id"));
    const auto every = bleu_counts(prediction(pair), all);
    expect_bleu(every, bleu(every, true), pair.at("bleu_sentence").at("all"), pair.at("id"));
  }
}

TEST(TextMetrics, CorpusBleuIsSacrebleus) {
  BleuCounts first;
  BleuCounts every;
  for (const Json& pair : golden().at("pairs")) {
    const auto all = references(pair);
    first += bleu_counts(prediction(pair), std::span(all).first(1));
    every += bleu_counts(prediction(pair), all);
  }
  expect_bleu(first, bleu(first, false), golden().at("bleu_corpus").at("first"), "corpus, first reference");
  expect_bleu(every, bleu(every, false), golden().at("bleu_corpus").at("all"), "corpus, all references");
}

TEST(TextMetrics, UnigramBleuIsAsDefined) {
  for (const Json& pair : golden().at("pairs")) {
    const auto all = references(pair);
    EXPECT_NEAR(bleu1(prediction(pair), std::span(all).first(1)), pair.at("bleu1").at("first").get<double>(),
                kTolerance)
        << pair.at("id");
    EXPECT_NEAR(bleu1(prediction(pair), all), pair.at("bleu1").at("all").get<double>(), kTolerance) << pair.at("id");
  }
}

TEST(TextMetrics, LevenshteinIsRapidfuzzs) {
  for (const Json& pair : golden().at("pairs")) {
    const Json& theirs = pair.at("levenshtein");
    EXPECT_EQ(levenshtein(prediction(pair), references(pair)[0]), theirs.at("distance_first").get<std::size_t>())
        << pair.at("id");
    EXPECT_NEAR(edit_similarity(prediction(pair), references(pair)[0]), theirs.at("first").get<double>(), kTolerance);
    EXPECT_NEAR(best_of(pair, edit_similarity), theirs.at("best").get<double>(), kTolerance) << pair.at("id");
  }
}

TEST(TextMetrics, JaccardIsOverLowerCasedWords) {
  const auto words = [](std::string_view text) { return split_white_space(lower_case(text)); };
  for (const Json& pair : golden().at("pairs")) {
    const Json& theirs = pair.at("jaccard");
    EXPECT_NEAR(jaccard(words(prediction(pair)), words(references(pair)[0])), theirs.at("first").get<double>(),
                kTolerance)
        << pair.at("id");
    EXPECT_NEAR(jaccard(answer_words(prediction(pair)), answer_words(references(pair)[0])),
                theirs.at("squad_tokens_first").get<double>(), kTolerance)
        << pair.at("id");
  }
}

/// The textbook matrix.
std::size_t plain_levenshtein(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return d[a.size()][b.size()];
}

TEST(Levenshtein, EqualsTheTextbookMatrixAcrossBlocksOf64) {
  std::uint32_t state = 7;
  const auto next = [&state](std::uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return (state >> 16U) % below;
  };
  for (int round = 0; round < 400; ++round) {
    std::string a(next(200), 'a');
    std::string b(next(200), 'a');
    for (char& c : a) c = static_cast<char>('a' + next(3));
    for (char& c : b) c = static_cast<char>('a' + next(3));
    ASSERT_EQ(levenshtein(a, b), plain_levenshtein(a, b)) << a << " | " << b;
  }
}

TEST(Abstention, FoldsCaseApostropheAndBlanks) {
  EXPECT_TRUE(is_abstention(""));
  EXPECT_TRUE(is_abstention(" \n"));
  EXPECT_TRUE(is_abstention("I don't know."));
  EXPECT_TRUE(is_abstention("Sorry, I DON\u2019T  know"));
  EXPECT_TRUE(is_abstention("i\tdon`t"));
  EXPECT_FALSE(is_abstention("Paris"));
  EXPECT_FALSE(is_abstention("They don't"));
}

TEST(ContainsAnswer, MatchesWholeNormalisedWords) {
  EXPECT_TRUE(contains_answer("It was the Eiffel Tower, of course.", "eiffel tower"));
  EXPECT_FALSE(contains_answer("It was Parisian.", "Paris"));
  EXPECT_FALSE(contains_answer("anything", "the"));
}

}  // namespace
}  // namespace casemate
