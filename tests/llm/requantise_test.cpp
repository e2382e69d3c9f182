#include "casemate/llm/requantise.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "casemate/core/file_system.h"
#include "llm/llm_fixture.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using ::testing::HasSubstr;

class RequantiseTest : public test::SmallModelTest {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(RequantiseTest, EightBitsSayNearlyWhatTheFourBitsTheyWereMadeFromSay) {
  const std::string to = folder_.path("eight.gguf");
  const Status made = requantise_model(test::small_model_path(), to, "q8_0", 1);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_GT(std::filesystem::file_size(to), std::filesystem::file_size(test::small_model_path()) * 13 / 10);
  const auto eight = test::load_or_null(to, test::test_options());
  ASSERT_NE(eight, nullptr);
  const auto prompt = ids("The capital of France is the city of");
  const auto before = model().next_token_log_probabilities(prompt).value();
  const auto after = eight->next_token_log_probabilities(prompt).value();
  ASSERT_EQ(before.size(), after.size());
  const auto best = std::max_element(before.begin(), before.end()) - before.begin();
  EXPECT_EQ(std::max_element(after.begin(), after.end()) - after.begin(), best);
  // Kullback-Leibler divergence; the four bits themselves are some 0.05 away from what they were made from.
  double divergence = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    divergence += std::exp(static_cast<double>(before[i])) * static_cast<double>(before[i] - after[i]);
  EXPECT_LT(divergence, 0.02);
  EXPECT_GT(divergence, -1e-4);
}

TEST_F(RequantiseTest, WhatCannotBeWrittenIsNamedAndLeavesNoFile) {
  const std::string to = folder_.path("out.gguf");
  const Status unknown = requantise_model(test::small_model_path(), to, "q8_1");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidOption);
  EXPECT_THAT(unknown.error().message, HasSubstr("q8_0"));
  EXPECT_EQ(requantise_model(folder_.path("absent.gguf"), to, "q8_0").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(write_file_atomically(FileSystem::posix(), folder_.path("text.gguf"), "no model").ok());
  EXPECT_EQ(requantise_model(folder_.path("text.gguf"), to, "q8_0").error().code, ErrorCode::kInvalidInput);
  const Status itself = requantise_model(test::small_model_path(), test::small_model_path(), "q8_0");
  ASSERT_FALSE(itself.ok());
  EXPECT_EQ(itself.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(to));
  EXPECT_FALSE(requantise_model(test::small_model_path(), folder_.path("no/such/folder/out.gguf"), "q8_0", 1).ok());
}

}  // namespace
}  // namespace casemate
