// RAGMask with all-MiniLM-L6-v2 against similarities made by an independent program (tests/golden/ragmask.json).
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/defend/ragmask.h"
#include "casemate/encoder/bert_encoder.h"
#include "mask_twin.h"
#include "support/paths.h"

namespace casemate {
namespace {

constexpr double kTolerance = 1e-4;

TEST(RagMaskGolden, SimilaritiesAndDecisionsAreThoseOfTheGoldenFile) {
  const auto folder = test::model_folder("all-minilm-l6-v2");
  if (!folder) GTEST_SKIP() << "all-minilm-l6-v2 is not here: casemate models pull all-minilm-l6-v2";
  const ThreadPool pool(2);
  const auto encoder = load_bert_encoder(*folder, {}, pool);
  ASSERT_TRUE(encoder.ok());
  const auto text = read_file(test::golden_path("ragmask.json"));
  ASSERT_TRUE(text.ok());
  const auto golden = nlohmann::json::parse(*text);
  DefenceQuery query;
  query.embedding = test::embed_query(**encoder, golden["query"]);
  double worst = 0;
  std::size_t decisions = 0;
  for (const auto& entry : golden["cases"]) {
    PassageCandidate candidate;
    candidate.text = UntrustedText(golden["documents"][entry["document"].get<std::size_t>()].get<std::string>());
    for (const auto& [delta, expected] : entry["delta"].items()) {
      RagMaskOptions options;
      options.mask_length_tokens = entry["m"];
      options.delta = std::stod(delta);
      options.perturb = options.sanitise = entry["perturb"] == "mask" ? MaskAction::kMask : MaskAction::kDelete;
      const auto defence = RagMask::create(options, **encoder, nullptr);
      ASSERT_TRUE(defence.ok());
      const auto report = (*defence)->examine(query, {&candidate, 1}, {});
      ASSERT_TRUE(report.ok()) << report.error().message;
      const MaskJudgement& judgement = report->judgements[0];
      worst = std::max(worst, std::abs(judgement.similarity - entry["similarity"].get<double>()));
      const auto perturbed = entry["perturbed_similarity"].get<std::vector<double>>();
      ASSERT_EQ(judgement.segments.size(), perturbed.size());
      std::vector<std::size_t> suspicious;
      for (std::size_t s = 0; s < perturbed.size(); ++s) {
        worst = std::max(worst, std::abs(judgement.segments[s].perturbed - perturbed[s]));
        if (judgement.segments[s].suspicious) suspicious.push_back(s);
      }
      if (expected["margin"].get<double>() <= kTolerance) continue;
      ++decisions;
      EXPECT_EQ(suspicious, expected["suspicious"].get<std::vector<std::size_t>>());
      worst =
          std::max(worst, std::abs(judgement.sanitised_similarity - expected["sanitised_similarity"].get<double>()));
    }
  }
  EXPECT_GT(decisions, 20U);
  EXPECT_LT(worst, kTolerance);
  RecordProperty("largest_difference", std::to_string(worst * 1e6) + "e-6");
}

}  // namespace
}  // namespace casemate
