#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <latch>
#include <thread>

#include "llm/llama_batch_fixture.h"

namespace casemate {
namespace {

using test::LlamaBatchTest;
using ::testing::HasSubstr;

TEST_F(LlamaBatchTest, EachSequenceEqualsTheSameSequenceAlone) {
  const auto prefix = ids(story(4));
  const std::vector<std::vector<TokenId>> suffixes = {ids("The answer is"), ids(story(5, 3)), ids(" a"),
                                                      ids("In the beginning there were two towers and")};
  auto batch = model().start_batch(prefix, sequences(suffixes));
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    const auto alone = model().next_token_log_probabilities(joined(prefix, suffixes[i])).value();
    EXPECT_EQ(test::largest_difference((*batch)->log_probabilities(i).value(), alone), 0) << i;
  }
  const auto together = (*batch)->generate_greedy(12);
  ASSERT_TRUE(together.ok()) << together.error().message;
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    EXPECT_EQ((*together)[i].ids, model().generate_tokens(joined(prefix, suffixes[i]), greedy(12))->ids) << i;
  }
}

TEST_F(LlamaBatchTest, ASequenceMayBeginFromNothingBesideOthersThatShareAPrefix) {
  const auto prefix = ids(story(4));
  const auto suffix = ids("The answer is");
  const auto other = ids("Quite another beginning of quite another story");
  const BatchSequence both[] = {{suffix}, {other, nullptr, true}};
  auto batch = model().start_batch(prefix, both);
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ((*batch)->tokens(1).size(), other.size());
  EXPECT_EQ((*batch)->log_probabilities(1).value(), model().next_token_log_probabilities(other).value());
  EXPECT_EQ((*batch)->log_probabilities(0).value(),
            model().next_token_log_probabilities(joined(prefix, suffix)).value());
  const auto state = (*batch)->save_state(1).value();
  batch->reset();
  const BatchSequence impossible[] = {{other, &state, true}};
  EXPECT_EQ(model().start_batch({}, impossible).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(LlamaBatchTest, StepsOfASequenceDoNotDependOnItsNeighbours) {
  const auto prefix = ids(story(4));
  const auto run = [&](const std::vector<std::vector<TokenId>>& suffixes, std::size_t watched) {
    auto batch = model().start_batch(prefix, sequences(suffixes)).value();
    std::vector<std::vector<float>> seen;
    const auto forced = ids(" and then the harbour was closed");
    for (const TokenId id : forced) {
      std::vector<BatchAppend> appends;
      for (std::size_t i = 0; i < batch->size(); ++i) appends.push_back({i, std::span(&id, 1)});
      EXPECT_TRUE(batch->append(appends).ok());
      seen.push_back(batch->log_probabilities(watched).value());
    }
    return seen;
  };
  const auto watched = ids("Near the old wall");
  const auto alone = run({watched}, 0);
  EXPECT_EQ(run({watched, ids(story(5, 1))}, 0), alone);
  EXPECT_EQ(run({ids(story(12, 1)), ids("x y z"), watched}, 2), alone);
  std::vector<std::vector<TokenId>> ten(10, ids("A crowd of others"));
  ten[7] = watched;
  EXPECT_EQ(run(ten, 7), alone);
}

TEST_F(LlamaBatchTest, ThePrefixIsComputedOnceAndKeptForTheNextBatch) {
  const auto prefix = ids("Zebra facts, seen by no other test. " + story(4, 11));
  const std::vector<std::vector<TokenId>> suffixes = {ids("Alpha comes first of all the letters there are"),
                                                      ids("Beta comes second of all the letters there are"),
                                                      ids("Gamma comes third, as every child in Greece can tell")};
  std::size_t suffix_tokens = 0;
  for (const auto& suffix : suffixes) suffix_tokens += suffix.size();
  {
    auto batch = model().start_batch(prefix, sequences(suffixes)).value();
    EXPECT_EQ(batch->usage().decoded_tokens, prefix.size() + suffix_tokens);
  }
  auto again = model().start_batch(prefix, sequences(suffixes)).value();
  EXPECT_EQ(again->usage().decoded_tokens, suffix_tokens);
}

TEST_F(LlamaBatchTest, AppendingSomeSequencesLeavesTheOthersAsTheyAre) {
  const auto prefix = ids(story(3));
  auto batch = model().start_batch(prefix, sequences({ids("one two"), ids("three four"), ids("five six")})).value();
  const auto middle = batch->log_probabilities(1).value();
  const auto extra = ids(" seven eight nine");
  const std::vector<BatchAppend> ends = {{0, std::span(extra).first(1)}, {2, std::span(extra).first(1)}};
  ASSERT_TRUE(batch->append(ends).ok());
  EXPECT_EQ(batch->log_probabilities(1).value(), middle);
  const std::vector<BatchAppend> whole = {{1, extra}};
  ASSERT_TRUE(batch->append(whole).ok());
  const auto tokens = joined(joined(prefix, ids("three four")), extra);
  EXPECT_EQ(std::vector<TokenId>(batch->tokens(1).begin(), batch->tokens(1).end()), tokens);
  EXPECT_EQ(batch->log_probabilities(1).value(), model().next_token_log_probabilities(tokens).value());
}

TEST_F(LlamaBatchTest, ABatchThatOutgrowsItsRoomGoesOnUnchanged) {
  const auto prefix = ids(story(2));
  const auto suffix = ids("Once upon a time");
  const auto expected = model().generate_tokens(joined(prefix, suffix), greedy(90))->ids;
  auto batch = model().start_batch(prefix, sequences({suffix, ids("Another story begins")})).value();
  const auto long_text = ids(story(12, 5));  // far more than the room it began with
  const std::vector<BatchAppend> grow = {{1, long_text}};
  ASSERT_TRUE(batch->append(grow).ok());
  const auto out = batch->generate_greedy(90);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ((*out)[0].ids, expected);
}

TEST_F(LlamaBatchTest, ASavedStateGivesTheSameBitsAsComputingIt) {
  const auto prefix = ids(story(4));
  const auto passage = ids(story(5, 9));
  const auto question = ids("Question: which harbour is the oldest?");
  auto first = model().start_batch(prefix, sequences({passage, ids("other passage text")})).value();
  const SequenceState state = first->save_state(0).value();
  const std::vector<BatchAppend> ask = {{0, question}};
  ASSERT_TRUE(first->append(ask).ok());
  const auto computed = first->log_probabilities(0).value();
  first.reset();

  std::vector<BatchSequence> restored = {{question, &state}};
  auto second = model().start_batch(prefix, restored);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ((*second)->usage().decoded_tokens, question.size());
  EXPECT_EQ((*second)->log_probabilities(0).value(), computed);
}

TEST_F(LlamaBatchTest, DamagedAndForeignStatesAreRefused) {
  const auto prefix = ids(story(2));
  SequenceState state;
  {
    auto batch = model().start_batch(prefix, sequences({ids("a passage of text")})).value();
    state = batch->save_state(0).value();
  }
  const auto suffix = ids("What now?");
  const auto refused = [&](const SequenceState& bad, std::span<const TokenId> with) {
    const std::vector<BatchSequence> restored = {{suffix, &bad}};
    const auto batch = model().start_batch(with, restored);
    EXPECT_FALSE(batch.ok());
    return batch.ok() ? ErrorCode::kInvalidArgument : batch.error().code;
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{60}, state.bytes.size() / 2}) {
    SequenceState flipped = state;
    flipped.bytes[at] = static_cast<char>(flipped.bytes[at] ^ 1);
    EXPECT_EQ(refused(flipped, prefix), ErrorCode::kCorrupt) << at;
  }
  SequenceState cut = state;
  cut.bytes.resize(cut.bytes.size() - 100);
  EXPECT_EQ(refused(cut, prefix), ErrorCode::kCorrupt);
  EXPECT_EQ(refused(SequenceState{}, prefix), ErrorCode::kCorrupt);
  EXPECT_EQ(refused(state, ids("Another prefix")), ErrorCode::kMismatch);
  const auto good = model().start_batch(prefix, std::vector<BatchSequence>{{suffix, &state}});
  EXPECT_TRUE(good.ok());
}

TEST_F(LlamaBatchTest, WrongUseIsAnErrorAndNotACrash) {
  EXPECT_FALSE(model().start_batch(ids("x y"), {}).ok());
  auto batch = model().start_batch({}, sequences({ids("no prefix here")})).value();
  const auto busy = model().start_batch({}, sequences({ids("second batch")}));
  ASSERT_FALSE(busy.ok());
  EXPECT_EQ(busy.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(batch->log_probabilities(1).ok());
  const std::vector<TokenId> one = {5};
  EXPECT_FALSE(batch->append(std::vector<BatchAppend>{{0, one}, {0, one}}).ok());
  EXPECT_FALSE(batch->append(std::vector<BatchAppend>{{3, one}}).ok());
  const std::vector<TokenId> bad = {1 << 20};
  EXPECT_FALSE(batch->append(std::vector<BatchAppend>{{0, bad}}).ok());
  const std::vector<TokenId> many(2000, 5);
  const auto full = batch->append(std::vector<BatchAppend>{{0, many}});
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kLimit);
  EXPECT_TRUE(batch->append(std::vector<BatchAppend>{{0, one}}).ok());  // refused calls change nothing
  EXPECT_TRUE(batch->generate_greedy(2).ok());
  EXPECT_FALSE(batch->log_probabilities(0).ok());
}

TEST_F(LlamaBatchTest, OtherCallsMayRunBetweenTheStepsOfABatch) {
  auto batch = model().start_batch(ids(story(2)), sequences({ids("one two"), ids("three four")})).value();
  const auto before = batch->log_probabilities(1).value();
  ASSERT_TRUE(model().generate_tokens(ids("Something in between"), greedy(3)).ok());
  EXPECT_EQ(batch->log_probabilities(1).value(), before);
}

TEST_F(LlamaBatchTest, GoingBackAndForwardAgainGivesTheSameBitsAsGoingStraight) {
  const auto prefix = ids(story(4));
  const std::vector<std::vector<TokenId>> suffixes = {ids("Near the old wall"), ids("By the river there stood")};
  const auto words = ids(" the harbour was closed again");
  const auto astray = ids(" nine green bottles");
  const auto step = [](LlmBatch& batch, TokenId id) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const BatchAppend append{i, std::span(&id, 1)};
      ASSERT_TRUE(batch.append(std::span(&append, 1)).ok());
    }
  };
  std::vector<std::vector<float>> straight;
  {
    auto batch = model().start_batch(prefix, sequences(suffixes)).value();
    for (const TokenId id : words) {
      step(*batch, id);
      straight.push_back(batch->log_probabilities(1).value());
    }
  }
  auto batch = model().start_batch(prefix, sequences(suffixes)).value();
  step(*batch, words[0]);
  const std::size_t fork = batch->tokens(1).size();
  for (const TokenId id : astray) step(*batch, id);
  ASSERT_TRUE(batch->rewind(1, fork).ok());
  EXPECT_EQ(batch->tokens(1).size(), fork);
  EXPECT_EQ(batch->log_probabilities(1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(batch->log_probabilities(0).ok());
  EXPECT_EQ(batch->generate_greedy(2).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(batch->rewind(1, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(batch->rewind(1, fork + 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(batch->rewind(2, 1).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(batch->rewind(0, batch->tokens(0).size() - astray.size()).ok());
  for (std::size_t i = 1; i < words.size(); ++i) {
    step(*batch, words[i]);
    EXPECT_EQ(batch->log_probabilities(1).value(), straight[i]) << i;
  }
}

TEST_F(LlamaBatchTest, CancellingSpendsTheBatch) {
  auto batch = model().start_batch(ids(story(2)), sequences({ids("one two"), ids("three four")})).value();
  std::stop_source source;
  source.request_stop();
  const auto out = batch->generate_greedy(5, {}, source.get_token());
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(batch->log_probabilities(0).ok());
  batch.reset();
  EXPECT_TRUE(model().start_batch(ids(story(2)), sequences({ids("one two")})).ok());
}

TEST_F(LlamaBatchTest, ABatchThatIsCancelledWhileItBeginsLeavesNothingInTheNextOnesCells) {
  const auto prefix = ids(story(4));
  const auto passage = ids(story(5, 9));
  const auto question = ids("Question: which harbour is the oldest?");
  SequenceState state;
  std::vector<float> expected;
  {
    auto batch = model().start_batch(prefix, sequences({passage})).value();
    state = batch->save_state(0).value();
    const BatchAppend ask{0, question};
    ASSERT_TRUE(batch->append(std::span(&ask, 1)).ok());
    expected = batch->log_probabilities(0).value();
  }
  // Stopped between copying the prefix and reading on, whenever that is: at once, or after some of the sequences.
  for (const int wait_ms : {0, 5, 20, 60}) {
    std::stop_source source;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      source.request_stop();
    });
    const auto cancelled =
        model().start_batch(prefix, sequences(std::vector<std::vector<TokenId>>(12, passage)), source.get_token());
    EXPECT_FALSE(cancelled.ok());
    const BatchSequence restored{question, &state};
    auto next = model().start_batch(prefix, std::span(&restored, 1)).value();
    EXPECT_EQ(next->log_probabilities(0).value(), expected) << wait_ms;
  }
}

TEST(OtherModelBatchTest, EachSequenceEqualsTheSameSequenceAloneAndThreadsChangeNothing) {
  auto options = test::test_options();
  const auto one = test::load_or_null(test::other_model_path(), options);
  if (one == nullptr) GTEST_SKIP() << "qwen2.5-coder-0.5b-instruct-q4_k_m is not here: casemate models pull fetches it";
  options.threads = 2;
  const auto two = test::load_or_null(test::other_model_path(), options);
  ASSERT_NE(two, nullptr);
  const auto ids = [&](const std::string& text) { return one->tokenize(text, SpecialTokens::kAsText).value().ids; };
  const auto prefix = ids("Answer the question from the passage in one word. ");
  std::vector<std::vector<TokenId>> suffixes;
  for (const std::string name : {"Bruno", "Rex", "Waldi", "Bello", "Lassie"}) {
    suffixes.push_back(ids("Passage: the keeper's dog is called " + name + ". The dog is called"));
  }
  std::vector<BatchSequence> sequences;
  for (const auto& suffix : suffixes) sequences.push_back({suffix, nullptr});
  const auto together = one->start_batch(prefix, sequences).value()->generate_greedy(4).value();
  const auto threaded = two->start_batch(prefix, sequences).value();
  GenerateOptions greedy;
  greedy.max_new_tokens = 4;
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    std::vector<TokenId> whole = prefix;
    whole.insert(whole.end(), suffixes[i].begin(), suffixes[i].end());
    EXPECT_EQ(one->generate_tokens(whole, greedy)->ids, together[i].ids);
    EXPECT_EQ(one->next_token_log_probabilities(whole).value(), threaded->log_probabilities(i).value());
  }
}

}  // namespace
}  // namespace casemate
