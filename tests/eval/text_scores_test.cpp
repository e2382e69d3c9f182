// Scores of text pairs against tests/golden/text_metrics.json: the best reference, or all where the metric takes all.
#include "casemate/eval/text_scores.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "casemate/text/porter_stemmer.h"
#include "casemate/text/rouge.h"
#include "support/paths.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using Json = nlohmann::json;

TEST(TextScores, JsonHasTheGoldenValues) {
  const Json golden = Json::parse(std::ifstream(test::golden_path("text_metrics.json")));
  std::vector<TextPair> pairs;
  for (const Json& pair : golden.at("pairs"))
    pairs.push_back({pair.at("id"), pair.at("prediction"), pair.at("references").get<std::vector<std::string>>()});
  const Json ours = Json::parse(to_json(pairs, score_texts(pairs)));
  double exact = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Json& theirs = golden.at("pairs").at(i);
    const Json& mine = ours.at("pairs").at(i);
    const auto near = [&](const Json& a, const Json& b) {
      EXPECT_NEAR(a.get<double>(), b.get<double>(), 1e-9) << pairs[i].id;
    };
    near(mine.at("exact_match"), theirs.at("squad").at("exact_match"));
    near(mine.at("f1"), theirs.at("squad").at("f1"));
    near(mine.at("bleu"), theirs.at("bleu_sentence").at("all").at("score"));
    near(mine.at("bleu1"), theirs.at("bleu1").at("all"));
    near(mine.at("eed"), theirs.at("levenshtein").at("best"));
    near(mine.at("jaccard"), theirs.at("jaccard").at("best"));
    for (const char* kind : {"rouge1", "rouge2", "rougeL"})
      for (const char* part : {"precision", "recall", "f"})
        near(mine.at(kind).at(part), theirs.at("rouge").at("best").at(kind).at(part));
    exact += mine.at("exact_match").get<double>() / static_cast<double>(pairs.size());
  }
  EXPECT_NEAR(ours.at("means").at("exact_match").get<double>(), exact, 1e-12);
  EXPECT_NEAR(ours.at("means").at("f1").get<double>(), golden.at("means").at("f1").get<double>(), 1e-9);
  EXPECT_NEAR(ours.at("bleu_corpus").get<double>(), golden.at("bleu_corpus").at("all").at("score").get<double>(), 1e-9);
}

TEST(TextScores, StemsAndStemmedRougeHaveTheGoldenValues) {
  const Json golden = Json::parse(std::ifstream(test::golden_path("text_metrics.json")));
  std::size_t stems = 0;
  for (const auto& [word, stem] : golden.at("porter_stems").at("stems").items()) {
    EXPECT_EQ(porter_stem(word), stem.get<std::string>()) << word;
    ++stems;
  }
  EXPECT_GE(stems, 100U);
  for (const Json& pair : golden.at("pairs")) {
    const auto prediction = rouge_stems(pair.at("prediction").get<std::string>());
    double best = 0;
    for (const Json& reference : pair.at("references"))
      best = std::max(best, rouge_l(prediction, rouge_stems(reference.get<std::string>())).f);
    EXPECT_NEAR(best, pair.at("rouge").at("rougeL_stem_f_best").get<double>(), 1e-9) << pair.at("id");
  }
}

TEST(TextScores, ABrokenLineIsNamed) {
  const test::TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    const std::string path = folder.path("pairs.jsonl");
    std::ofstream(path) << text;
    const auto read = read_text_pairs(path);
    return read.ok() ? std::string() : read.error().message.substr(path.size());
  };
  EXPECT_EQ(error("{\"prediction\": \"a\", \"references\": [\"a\"]}\n\n{\"prediction\": \"b\", \"reference\": \"b\"}"),
            "");
  EXPECT_TRUE(error("\n{\"references\": [\"a\"]}").starts_with(":2: field \"prediction\""));
  EXPECT_TRUE(error("{\"prediction\": \"a\"}").starts_with(":1: field \"references\""));
  EXPECT_TRUE(error("{\"prediction\": \"a\", \"references\": []}").starts_with(":1: field \"references\" is empty"));
  EXPECT_TRUE(error("{\"prediction\": \"a\", \"references\": [1]}").starts_with(":1: field \"references\" must"));
  EXPECT_TRUE(error("[]").starts_with(":1: expected a JSON object"));
  EXPECT_TRUE(error("{\"prediction\": NaN}").starts_with(":1: "));
}

}  // namespace
}  // namespace casemate
