#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <latch>
#include <thread>

#include "llm/llm_fixture.h"

namespace casemate {
namespace {

using test::SmallModelTest;
using ::testing::HasSubstr;

class LlamaBatchTest : public SmallModelTest {
 protected:
  static std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static std::vector<BatchSequence> sequences(const std::vector<std::vector<TokenId>>& suffixes) {
    std::vector<BatchSequence> out;
    for (const auto& suffix : suffixes) out.push_back({suffix, nullptr});
    return out;
  }
  static GenerateOptions greedy(int tokens) {
    GenerateOptions options;
    options.max_new_tokens = tokens;
    return options;
  }
};

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

TEST_F(LlamaBatchTest, ThreadsWhoseStepsAreTakenTogetherGetTheBitsThatEachGetsAlone) {
  const auto prefix = ids(story(4));
  const auto forced = ids(" and then the harbour was closed by the old guard");
  // Each thread has sequences of its own, some of which end early, so that others are moved into their places.
  const auto run = [&](std::size_t number, std::latch& begin) {
    std::vector<std::vector<TokenId>> suffixes;
    for (std::size_t i = 0; i < 3 + number; ++i)
      suffixes.push_back(ids(story(1 + static_cast<int>(i % 2), static_cast<int>(10 * number + i))));
    auto batch = model().start_batch(prefix, sequences(suffixes)).value();
    begin.arrive_and_wait();
    std::vector<std::vector<float>> seen;
    for (std::size_t t = 0; t < forced.size(); ++t) {
      std::vector<BatchAppend> appends;
      for (std::size_t i = 0; i < batch->size(); ++i) {
        if (i == number || t < 2 + i) appends.push_back({i, std::span(&forced[t], 1)});
      }
      if (t == 4) {
        // Back and the same way again.
        EXPECT_TRUE(batch->rewind(number, batch->tokens(number).size() - 1).ok());
        const BatchAppend again{number, std::span(&forced[t - 1], 1)};
        EXPECT_TRUE(batch->append(std::span(&again, 1)).ok());
      }
      EXPECT_TRUE(batch->append(appends).ok());
      seen.push_back(batch->log_probabilities(number).value());
    }
    // Those that had ended go on from where they were put.
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const BatchAppend append{i, std::span(&forced[0], 1)};
      EXPECT_TRUE(batch->append(std::span(&append, 1)).ok());
      seen.push_back(batch->log_probabilities(i).value());
    }
    return seen;
  };
  // The same of each sequence in a batch of its own, where nothing is ever moved.
  const auto expected_of = [&](std::size_t number) {
    std::vector<std::vector<float>> watched, last;
    for (std::size_t i = 0; i < 3 + number; ++i) {
      const auto suffix = ids(story(1 + static_cast<int>(i % 2), static_cast<int>(10 * number + i)));
      auto batch = model().start_batch(prefix, sequences({suffix})).value();
      const auto append = [&](const TokenId& id) {
        const BatchAppend one{0, std::span(&id, 1)};
        EXPECT_TRUE(batch->append(std::span(&one, 1)).ok());
      };
      for (std::size_t t = 0; t < forced.size(); ++t) {
        if (i != number && t >= 2 + i) continue;
        append(forced[t]);
        if (i == number) watched.push_back(batch->log_probabilities(0).value());
      }
      append(forced[0]);
      last.push_back(batch->log_probabilities(0).value());
    }
    watched.insert(watched.end(), last.begin(), last.end());
    return watched;
  };
  std::vector<std::vector<std::vector<float>>> alone;
  for (std::size_t n = 0; n < 3; ++n) alone.push_back(expected_of(n));
  std::vector<std::vector<std::vector<float>>> together(3);
  std::latch begin(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n < 3; ++n) threads.emplace_back([&, n] { together[n] = run(n, begin); });
  }
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(together[n], alone[n]) << n;
}

TEST_F(LlamaBatchTest, CancellingOneThreadsBatchFreesItsSequencesAndLeavesTheOthersAsTheyAre) {
  const auto prefix = ids(story(2));
  const auto expected = model().generate_tokens(joined(prefix, ids("Once upon a time")), greedy(20))->ids;
  std::stop_source source;
  std::latch begin(2);
  std::jthread cancelled([&] {
    auto batch = model().start_batch(prefix, sequences({ids("one two"), ids("three four")})).value();
    begin.arrive_and_wait();
    const TokenId id = ids(" a")[0];
    for (int i = 0; i < 3; ++i) {
      const BatchAppend append{0, std::span(&id, 1)};
      ASSERT_TRUE(batch->append(std::span(&append, 1), source.get_token()).ok());
    }
    source.request_stop();
    EXPECT_EQ(batch->generate_greedy(50, {}, source.get_token()).error().code, ErrorCode::kCancelled);
  });
  auto batch = model().start_batch(prefix, sequences({ids("Once upon a time"), ids("Another story begins")})).value();
  begin.arrive_and_wait();
  EXPECT_EQ(batch->generate_greedy(20).value()[0].ids, expected);
  cancelled.join();
  batch.reset();
  // All places are free again.
  const auto few = ids("one two");
  EXPECT_TRUE(model().start_batch({}, std::vector<BatchSequence>(64, BatchSequence{few})).ok());
}

/// A batch of one sequence that a thread of its own has begun.
std::unique_ptr<LlmBatch> begun_elsewhere(LanguageModel& model, const std::vector<TokenId>& tokens) {
  std::unique_ptr<LlmBatch> out;
  std::thread([&] {
    const BatchSequence sequence{tokens};
    out = model.start_batch({}, std::span(&sequence, 1)).value();
  }).join();
  return out;
}

/// The first stream is free again, the second is another batch's: so the two sequences of the next batch lie on both
/// sides of it, and a row of the other's is computed between theirs.
class NeighboursTest : public LlamaBatchTest {
 protected:
  void begin(const std::vector<TokenId>& middle) {
    // Room for all: sequences are laid side by side where it has to be made.
    const auto word = ids("room");
    ASSERT_TRUE(model().start_batch({}, std::vector<BatchSequence>(6, BatchSequence{word})).ok());
    const auto first = model().start_batch({}, sequences({ids("first come")})).value();
    middle_ = begun_elsewhere(model(), middle);
  }
  void expect_that_both_sides_go_on() {
    const auto left = ids("Near the old wall");
    const auto right = ids("By the river there stood");
    const TokenId next = ids(" a")[0];
    auto sides = model().start_batch({}, sequences({left, right})).value();
    const std::vector<BatchAppend> both = {{0, std::span(&next, 1)}, {1, std::span(&next, 1)}};
    const Status stepped = sides->append(both);
    ASSERT_TRUE(stepped.ok()) << stepped.error().message;
    const auto seen = sides->log_probabilities(1).value();
    sides.reset();
    auto alone = model().start_batch({}, sequences({right})).value();
    ASSERT_TRUE(alone->append(std::span(both).first(1)).ok());
    EXPECT_EQ(alone->log_probabilities(0).value(), seen);
  }
  std::unique_ptr<LlmBatch> middle_;
};

TEST_F(NeighboursTest, AStateThatIsSavedAfterGoingBackLeavesNoCountOfCellsThatAreGone) {
  begin(ids("one two three four five six seven"));
  ASSERT_TRUE(middle_->rewind(0, 3).ok());
  ASSERT_TRUE(middle_->save_state(0).ok());
  expect_that_both_sides_go_on();
}

TEST_F(NeighboursTest, APromptThatIsCancelledAfterItsFirstPiecesLeavesNoneOfThem) {
  const auto more = ids(story(30, 3));
  ASSERT_GT(more.size(), 512U);
  for (const int wait_ms : {200, 600, 1200}) {
    begin(ids("one two three four five six seven"));
    std::stop_source source;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      source.request_stop();
    });
    const BatchAppend append{0, more};
    const Status appended = middle_->append(std::span(&append, 1), source.get_token());
    if (!appended) {
      EXPECT_EQ(appended.error().code, ErrorCode::kCancelled);
    }
    expect_that_both_sides_go_on();
    middle_.reset();
  }
}

TEST_F(LlamaBatchTest, SequencesShareABudgetOfCellsAndALongOneWaitsForIt) {
  auto options = test::test_options();
  options.context_tokens = 512;
  options.max_cells = 1;  // four of context_tokens remain: 3072 cells, as a stream of 513 has 768
  const auto few = test::load_or_null(test::small_model_path(), options);
  ASSERT_NE(few, nullptr);
  const auto word = ids("one two");
  const auto many = few->start_batch({}, std::vector<BatchSequence>(11, BatchSequence{word}));
  ASSERT_FALSE(many.ok());
  EXPECT_EQ(many.error().code, ErrorCode::kLimit);
  EXPECT_THAT(many.error().message, HasSubstr("max_cells"));
  auto short_ones = few->start_batch({}, std::vector<BatchSequence>(10, BatchSequence{word})).value();
  const auto text = ids(story(30));
  ASSERT_GE(text.size(), 300U);
  const auto long_one = std::span(text).first(300);
  std::atomic<bool> begun = false;
  std::jthread other([&] {
    const BatchSequence sequence{{long_one.begin(), long_one.end()}};
    const auto batch = few->start_batch({}, std::span(&sequence, 1));
    begun = true;
    EXPECT_TRUE(batch.ok()) << batch.error().message;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(begun);
  // Its own growing is refused, and it is the only one that ends by it.
  const BatchAppend grow{0, long_one};
  const Status grown = short_ones->append(std::span(&grow, 1));
  ASSERT_FALSE(grown.ok());
  EXPECT_EQ(grown.error().code, ErrorCode::kLimit);
  short_ones.reset();
  other.join();
  EXPECT_TRUE(few->start_batch({}, std::vector<BatchSequence>(10, BatchSequence{word})).ok());
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
