// Gradients of all-MiniLM-L6-v2 against central differences of a double-precision forward pass over its weights.
//
// Differences of a float32 forward pass would be noise at the steps that keep the truncation error small, so the twin
// takes them; the gradient under test is the float32 one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "casemate/core/file_system.h"
#include "casemate/encoder/bert_encoder.h"
#include "double_transformer.h"
#include "support/paths.h"

namespace casemate {
namespace {

class MiniLmGradient : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = test::model_folder("all-minilm-l6-v2");
    if (!folder) GTEST_SKIP() << "all-minilm-l6-v2 is not here: casemate models pull all-minilm-l6-v2";
    BertEncoderOptions options;
    options.max_tokens = 512;
    auto loaded = load_bert_encoder(*folder, options, pool_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    encoder_ = *std::move(loaded);
  }

  void load_twin() {
    const std::string folder = *test::model_folder("all-minilm-l6-v2");
    const auto config = read_file(folder + "/config.json");
    ASSERT_TRUE(config.ok());
    twin_.config = *parse_model_config(*config);
    const auto file = SafetensorsFile::open(folder + "/model.safetensors");
    ASSERT_TRUE(file.ok()) << file.error().message;
    for (const auto& [name, info] : (*file)->tensors()) {
      if (info.dtype == "F32") twin_.tensors[name] = *(*file)->read(name, info.shape);
    }
  }

  ThreadPool pool_{2};
  std::unique_ptr<DifferentiableEncoder> encoder_;
  test::TinyCheckpoint twin_;
};

/// Fifty short texts, no two alike.
std::vector<std::string> made_texts() {
  const std::vector<std::string> who = {"the ferry", "our brass clock", "a tired surveyor", "Mrs. Oduya", "every lamp"};
  const std::vector<std::string> what = {
      "stops in 1931.", "was never painted",    "hums? twice!",  "costs 12,50 crowns", "leans westwards",
      "smells of tar",  "keeps the third rule", "vanished; why", "is (nearly) new",    "grüßt niemanden"};
  std::vector<std::string> texts;
  for (const std::string& first : who) {
    for (const std::string& second : what) texts.push_back(first + " " + second);
  }
  return texts;
}

TEST_F(MiniLmGradient, RandomDirectionsEqualCentralDifferencesOnFiftyTexts) {
  load_twin();
  const std::vector<std::string> texts = made_texts();
  std::vector<std::string_view> views(texts.begin(), texts.end());
  const std::string_view query[] = {"when does the ferry stop?"};
  const auto target = encoder_->encode(query, {});
  const auto encoded = encoder_->encode(views, {});
  ASSERT_TRUE(target.ok() && encoded.ok());
  std::vector<std::vector<TokenId>> sequences;
  std::vector<float> weights;
  for (const EncodedInput& input : encoded->inputs) {
    sequences.push_back(input.input_ids);
    weights.insert(weights.end(), target->embeddings.values.begin(), target->embeddings.values.end());
  }
  const auto result = encoder_->gradient(sequences, weights);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->embeddings.values, encoded->embeddings.values);

  constexpr std::size_t kWidth = 384;
  constexpr double kStep = 1e-4;  // a word embedding's values are about 0.05
  std::vector<double> errors(sequences.size());
  pool_.parallel_for(sequences.size(), [&](std::size_t s, int) {
    RandomStream random(s, "minilm direction");
    const auto gradient = result->gradient(s);
    test::Matrix direction(sequences[s].size(), std::vector<double>(kWidth));
    double analytic = 0;
    double gradient_squares = 0;
    double direction_squares = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double u = direction[i / kWidth][i % kWidth] = random.normal();
      analytic += static_cast<double>(gradient[i]) * u;
      gradient_squares += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
      direction_squares += u * u;
    }
    double value[2];
    for (const int side : {0, 1}) {
      test::Perturbation perturbation;
      perturbation.shift = direction;
      for (auto& row : perturbation.shift) {
        for (double& u : row) u *= side == 0 ? -kStep : kStep;
      }
      const test::Matrix states = test::double_forward(twin_, sequences[s], {}, perturbation);
      double dot = 0;
      double squares = 0;
      for (std::size_t d = 0; d < kWidth; ++d) {
        double mean = 0;
        for (const auto& state : states) mean += state[d];
        dot += mean * static_cast<double>(weights[d]);
        squares += mean * mean;
      }
      value[side] = dot / std::sqrt(squares);
    }
    const double numeric = (value[1] - value[0]) / (2 * kStep);
    // Relative to the derivative, or to its usual size along a random direction where chance makes it smaller.
    const double usual = std::sqrt(gradient_squares * direction_squares / static_cast<double>(gradient.size()));
    errors[s] = std::abs(numeric - analytic) / std::max(std::abs(numeric), usual);
  });
  double worst = 0;
  for (std::size_t s = 0; s < errors.size(); ++s) {
    worst = std::max(worst, errors[s]);
    EXPECT_LT(errors[s], 1e-3) << texts[s];
  }
  RecordProperty("largest_relative_error", std::to_string(worst));
}

TEST_F(MiniLmGradient, ShortAndLongestSequencesKeepTheirBitsInAnyBatch) {
  RandomStream random(9, "minilm ids");
  std::vector<std::vector<TokenId>> sequences;
  for (const std::size_t length : {1, 512, 3, 129, 255, 256, 31}) {
    sequences.emplace_back();
    for (std::size_t t = 0; t < length; ++t)
      sequences.back().push_back(static_cast<TokenId>(1000 + random.below(20000)));
  }
  std::vector<float> weights(sequences.size() * 384);
  for (float& w : weights) w = static_cast<float>(random.normal());
  const auto together = encoder_->gradient(sequences, weights);
  const auto encoded = encoder_->encode_tokens(sequences);
  ASSERT_TRUE(together.ok() && encoded.ok());
  EXPECT_EQ(together->embeddings.values, encoded->values);
  const ThreadPool one_thread(1);
  const auto alone_encoder = load_bert_encoder(*test::model_folder("all-minilm-l6-v2"), {}, one_thread);
  ASSERT_TRUE(alone_encoder.ok());
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const auto alone =
        (*alone_encoder)->gradient(std::span(sequences).subspan(s, 1), std::span(weights).subspan(s * 384, 384));
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(std::memcmp(alone->gradients.data(), together->gradient(s).data(), together->gradient(s).size_bytes()), 0)
        << sequences[s].size();
  }
}

}  // namespace
}  // namespace casemate
