// Ids and embeddings of all-MiniLM-L6-v2 against Hugging Face's tokenizer and a double-precision forward pass
// (tests/golden/minilm-l6-v2.json).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/encoder/bert_encoder.h"
#include "support/paths.h"

namespace casemate {
namespace {

class MiniLm : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = test::model_folder("all-minilm-l6-v2");
    if (!folder) GTEST_SKIP() << "all-minilm-l6-v2 is not here: casemate models pull all-minilm-l6-v2";
    const auto text = read_file(test::golden_path("minilm-l6-v2.json"));
    ASSERT_TRUE(text.ok());
    golden_ = nlohmann::json::parse(*text)["cases"];
    for (const auto& entry : golden_) texts_.push_back(entry["text"].get<std::string>());
    for (const std::string& each : texts_) views_.emplace_back(each);
    encoder_ = load(two_threads_);
  }

  static std::unique_ptr<DifferentiableEncoder> load(const ThreadPool& pool,
                                                     Precision precision = Precision::kFloat32) {
    BertEncoderOptions options;
    options.precision = precision;
    options.max_tokens = 512;
    auto encoder = load_bert_encoder(*test::model_folder("all-minilm-l6-v2"), options, pool);
    EXPECT_TRUE(encoder.ok()) << encoder.error().message;
    return encoder ? *std::move(encoder) : nullptr;
  }

  ThreadPool one_thread_{1};
  ThreadPool two_threads_{2};
  std::unique_ptr<DifferentiableEncoder> encoder_;
  nlohmann::json golden_;
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

TEST_F(MiniLm, IdsAreThoseOfHuggingFaceAndEmbeddingsThoseOfTheDoublePrecisionForward) {
  const auto result = encoder_->encode(views_, {TextRole::kPlain, SpecialTokens::kHuggingFace});
  ASSERT_TRUE(result.ok()) << result.error().message;
  double worst = 0;
  for (std::size_t i = 0; i < golden_.size(); ++i) {
    EXPECT_EQ(result->inputs[i].input_ids, golden_[i]["input_ids"].get<std::vector<TokenId>>())
        << texts_[i].substr(0, 80);
    const auto expected = golden_[i]["embedding"].get<std::vector<double>>();
    const auto row = result->embeddings.row(i);
    ASSERT_EQ(row.size(), expected.size());
    for (std::size_t j = 0; j < row.size(); ++j)
      worst = std::max(worst, std::abs(static_cast<double>(row[j]) - expected[j]));
  }
  RecordProperty("largest_difference", std::to_string(worst));
  // A float32 forward comes within 1e-6 (the golden values are rounded to 1e-7).
  EXPECT_LE(worst, 1e-6);
}

TEST_F(MiniLm, ThreadCountAndBatchDoNotChangeASingleBit) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFixed16}) {
    SCOPED_TRACE(precision_name(precision));
    const auto two = load(two_threads_, precision);
    const auto all_two = two->encode(views_, {});
    const auto all_one = load(one_thread_, precision)->encode(views_, {});
    ASSERT_TRUE(all_two.ok() && all_one.ok());
    EXPECT_EQ(all_two->embeddings.values, all_one->embeddings.values);
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const auto alone = two->encode(std::span(views_).subspan(i, 1), {});
      ASSERT_TRUE(alone.ok());
      const auto row = all_two->embeddings.row(i);
      EXPECT_EQ(std::memcmp(alone->embeddings.values.data(), row.data(), row.size_bytes()), 0) << i;
    }
  }
}

TEST_F(MiniLm, InFixedPointEmbeddingsStayWithin1e4OfTheDoublePrecisionForward) {
  const auto fixed = load(two_threads_, Precision::kFixed16);
  const auto result = fixed->encode(views_, {TextRole::kPlain, SpecialTokens::kHuggingFace});
  ASSERT_TRUE(result.ok()) << result.error().message;
  double worst = 0;
  for (std::size_t i = 0; i < golden_.size(); ++i) {
    const auto expected = golden_[i]["embedding"].get<std::vector<double>>();
    const auto row = result->embeddings.row(i);
    for (std::size_t j = 0; j < row.size(); ++j)
      worst = std::max(worst, std::abs(static_cast<double>(row[j]) - expected[j]));
  }
  RecordProperty("largest_difference", std::to_string(worst));
  EXPECT_LE(worst, 1e-4);
  EXPECT_GT(worst, 1e-6);  // or it was not fixed point
}

TEST_F(MiniLm, VectorsOfAnotherPrecisionHaveAnotherIdentityAndTheSameGradientPath) {
  const auto fixed = load(two_threads_, Precision::kFixed16);
  EXPECT_EQ(fixed->info().precision, Precision::kFixed16);
  EXPECT_NE(fixed->info().model_hash, encoder_->info().model_hash);
  const std::vector<std::vector<TokenId>> sequences = {{101, 2023, 2003, 1037, 3231, 102}, {101, 4419, 102}};
  const auto plain = fixed->encode_tokens(sequences);
  const std::vector<float> loss(2 * 384, 0.05F);
  const auto backward = fixed->gradient(sequences, loss);
  const auto exact = load(two_threads_)->gradient(sequences, loss);
  ASSERT_TRUE(plain.ok() && backward.ok() && exact.ok());
  EXPECT_EQ(backward->embeddings.values, plain->values);  // the forward half gives encode_tokens' bits
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < exact->gradients.size(); ++i) {
    difference += std::pow(static_cast<double>(exact->gradients[i] - backward->gradients[i]), 2);
    size += std::pow(static_cast<double>(exact->gradients[i]), 2);
  }
  EXPECT_LT(std::sqrt(difference / size), 1e-2);
  EXPECT_GT(difference, 0);
}

TEST_F(MiniLm, InTextModeWrittenSpecialTokensStayText) {
  const std::string_view text[] = {"a [SEP] b"};
  const auto as_text = encoder_->encode(text, {TextRole::kPlain, SpecialTokens::kAsText});
  const auto as_special = encoder_->encode(text, {TextRole::kPlain, SpecialTokens::kHuggingFace});
  ASSERT_TRUE(as_text.ok() && as_special.ok());
  const auto count_sep = [](const EncodedInput& input) {
    return std::count(input.input_ids.begin(), input.input_ids.end(), 102);
  };
  EXPECT_EQ(count_sep(as_text->inputs[0]), 1);
  EXPECT_EQ(count_sep(as_special->inputs[0]), 2);
}

TEST_F(MiniLm, TruncationIsReported) {
  std::string longer;
  for (int i = 0; i < 1000; ++i) longer += "word ";
  const std::string_view texts[] = {longer, "short"};
  const auto result = encoder_->encode(texts, {});
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->inputs[0].truncated());
  EXPECT_EQ(result->inputs[0].full_length, 1002U);
  EXPECT_EQ(result->inputs[0].input_ids.size(), 512U);
  EXPECT_FALSE(result->inputs[1].truncated());
}

TEST_F(MiniLm, ABadTokenSequenceIsRefusedByIndex) {
  const std::vector<std::vector<TokenId>> sequences = {{101, 102}, {101, 40000, 102}};
  const auto result = encoder_->encode_tokens(sequences);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(result.error().message.find("input 1"), std::string::npos);
  EXPECT_FALSE(encoder_->encode_tokens(std::vector<std::vector<TokenId>>{{}}).ok());
  EXPECT_FALSE(encoder_->encode_tokens(std::vector<std::vector<TokenId>>{std::vector<TokenId>(513, 101)}).ok());
}

TEST_F(MiniLm, NothingToEncodeGivesNothing) {
  const auto result = encoder_->encode({}, {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->embeddings.rows, 0U);
}

}  // namespace
}  // namespace casemate
