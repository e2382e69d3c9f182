// Attention weights of the small real model, with an answer and without one.
#include <gmock/gmock.h>

#include <map>

#include "llm/llm_fixture.h"

namespace casemate {
namespace {

using ::testing::HasSubstr;

class LlamaAttentionTest : public test::SmallModelTest {
 protected:
  /// By layer and row; what a visitor saw.
  using Rows = std::map<std::pair<std::size_t, std::size_t>, std::vector<float>>;
  static AttentionVisitor into(Rows& rows) {
    return [&rows](const AttentionBlock& block) -> Status {
      for (std::size_t r = 0; r < block.rows; ++r) {
        const auto row = block.weights.subspan(r * block.columns, block.first_row + r + 1);
        EXPECT_TRUE(
            rows.emplace(std::pair(block.layer, block.first_row + r), std::vector(row.begin(), row.end())).second);
      }
      return {};
    };
  }
  static GenerateOptions brief(int tokens) {
    GenerateOptions options;
    options.max_new_tokens = tokens;
    return options;
  }
};

TEST_F(LlamaAttentionTest, AttentionRowsSumToOneAndAreCausal) {
  const auto tokens = ids(story(15));
  ASSERT_GT(tokens.size(), 256U);  // more than one block of rows
  std::vector<std::size_t> rows_seen(model().info().layers, 0);
  const Status status = model().attention(tokens, [&](const AttentionBlock& block) -> Status {
    EXPECT_EQ(block.first_row, rows_seen[block.layer]);
    rows_seen[block.layer] += block.rows;
    for (std::size_t row = 0; row < block.rows; ++row) {
      const auto weights = block.weights.subspan(row * block.columns, block.columns);
      double sum = 0;
      for (const float weight : weights) sum += weight;
      EXPECT_NEAR(sum, 1.0, 1e-3);
      for (std::size_t column = block.first_row + row + 1; column < block.columns; ++column) {
        EXPECT_EQ(weights[column], 0.0F);
      }
    }
    return {};
  });
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_THAT(rows_seen, ::testing::Each(tokens.size()));
}

TEST_F(LlamaAttentionTest, TheFirstTokenAttendsToItselfInEveryLayer) {
  const auto tokens = ids("one two three");
  std::vector<float> first_rows;
  ASSERT_TRUE(model()
                  .attention(tokens,
                             [&](const AttentionBlock& block) -> Status {
                               first_rows.push_back(block.weights[0]);
                               return {};
                             })
                  .ok());
  ASSERT_EQ(first_rows.size(), model().info().layers);
  for (const float weight : first_rows) EXPECT_NEAR(weight, 1.0F, 1e-6F);
}

TEST_F(LlamaAttentionTest, AnErrorOfTheAttentionVisitorEndsTheRun) {
  int calls = 0;
  const Status status = model().attention(ids(story(2)), [&](const AttentionBlock&) -> Status {
    ++calls;
    return Error{ErrorCode::kLimit, "enough"};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("enough"));
  EXPECT_EQ(calls, 1);
}

TEST_F(LlamaAttentionTest, OfAnAnswerIsThatOfPromptAndAnswerRunTogether) {
  const auto prompt = ids(story(15) + "The harbour was");
  ASSERT_GT(prompt.size(), 256U);
  ASSERT_TRUE(model().generate_tokens(prompt, brief(1)).ok());  // leaves a cache, which must not hide rows
  for (const std::string& stop_string : {std::string(), std::string(" by")}) {
    GenerateOptions options = brief(6);
    if (!stop_string.empty()) options.stop = {stop_string};
    Rows on_the_way;
    const auto answer = model().generate_with_attention(prompt, options, into(on_the_way));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->cached_tokens, 0U);
    const auto plain = model().generate_tokens(prompt, options);
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(answer->ids, plain->ids);
    EXPECT_EQ(answer->text.bytes(), plain->text.bytes());
    EXPECT_EQ(answer->finish, plain->finish);
    auto all = prompt;
    all.insert(all.end(), answer->ids.begin(), answer->ids.end());
    Rows together;
    ASSERT_TRUE(model().attention(all, into(together)).ok());
    ASSERT_EQ(on_the_way.size(), together.size());
    ASSERT_EQ(together.size(), model().info().layers * all.size());
    for (const auto& [place, row] : together) {
      const auto& other = on_the_way.at(place);
      ASSERT_EQ(other.size(), row.size());
      // Single rows have kernels of their own, with probabilities that differ by up to 0.02 (docs/language-models.md).
      const float tolerance = place.second < prompt.size() ? 0.0F : 0.02F;
      for (std::size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(other[i], row[i], tolerance) << place.second << ' ' << i;
    }
  }
}

TEST_F(LlamaAttentionTest, WatchingLeavesNoTraceInLaterAnswers) {
  const auto prompt = ids(story(4) + "The next harbour");
  const auto before = model().next_token_log_probabilities(prompt).value();
  Rows rows;
  ASSERT_TRUE(model().generate_with_attention(prompt, brief(3), into(rows)).ok());
  const std::size_t seen = rows.size();
  EXPECT_EQ(model().next_token_log_probabilities(prompt).value(), before);
  ASSERT_TRUE(model().generate_tokens(ids(story(2)), brief(2)).ok());
  EXPECT_EQ(rows.size(), seen);
  EXPECT_EQ(model().next_token_log_probabilities(prompt).value(), before);
}

TEST_F(LlamaAttentionTest, AnErrorWhileAnswersAreWatchedEndsTheRunAndTheModelGoesOn) {
  const auto prompt = ids(story(2));
  const auto before = model().generate_tokens(prompt, brief(4)).value().ids;
  const std::size_t layers = model().info().layers;
  for (const std::size_t good : {std::size_t{0}, layers - 1, 2 * layers}) {
    std::size_t calls = 0;
    const auto failed = model().generate_with_attention(prompt, brief(4), [&](const AttentionBlock&) -> Status {
      if (++calls > good) return Error{ErrorCode::kLimit, "enough"};
      return {};
    });
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message, HasSubstr("enough"));
    EXPECT_EQ(calls, good + 1);
    EXPECT_EQ(model().generate_tokens(prompt, brief(4)).value().ids, before);
  }
  std::stop_source stop;
  const auto stopped = model().generate_with_attention(
      prompt, brief(4),
      [&](const AttentionBlock&) -> Status {
        stop.request_stop();
        return {};
      },
      stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(model().generate_tokens(prompt, brief(4)).value().ids, before);
}

}  // namespace
}  // namespace casemate
