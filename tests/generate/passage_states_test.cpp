#include "casemate/generate/passage_states.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

SequenceState state_of(std::size_t bytes, char fill) { return {std::string(bytes, fill)}; }

Digest key_of(TokenId token, std::string_view tenant = "t", std::string_view model = "m") {
  const TokenId tokens[] = {token, 2, 3};
  return PassageStates::key(model, tenant, tokens);
}

TEST(PassageStates, KeysTellModelTenantAndTokensApart) {
  EXPECT_EQ(key_of(1), key_of(1));
  EXPECT_NE(key_of(1), key_of(2));
  EXPECT_NE(key_of(1), key_of(1, "u"));
  EXPECT_NE(key_of(1), key_of(1, "t", "n"));
  EXPECT_NE(PassageStates::key("ab", "c", {}), PassageStates::key("a", "bc", {}));
}

TEST(PassageStates, TheLeastRecentlyUsedGoesWhenRoomIsNeeded) {
  auto states = PassageStates::create({.max_bytes = 250, .folder = {}}).value();
  states->keep(key_of(1), state_of(100, 'a'));
  states->keep(key_of(2), state_of(100, 'b'));
  ASSERT_NE(states->find(key_of(1)), nullptr);
  states->keep(key_of(3), state_of(100, 'c'));
  EXPECT_EQ(states->find(key_of(2)), nullptr);
  EXPECT_EQ(states->find(key_of(1))->bytes, std::string(100, 'a'));
  EXPECT_EQ(states->use().bytes, 200U);
  EXPECT_EQ(states->use().evicted, 1U);
  EXPECT_EQ(states->use().hits, 2U);
  EXPECT_EQ(states->use().misses, 1U);
}

TEST(PassageStates, OneThatIsLargerThanAllRoomIsNotKept) {
  auto states = PassageStates::create({.max_bytes = 250, .folder = {}}).value();
  states->keep(key_of(1), state_of(100, 'a'));
  states->keep(key_of(2), state_of(251, 'b'));
  EXPECT_EQ(states->find(key_of(2)), nullptr);
  EXPECT_NE(states->find(key_of(1)), nullptr);
}

TEST(PassageStates, KeepingOneAgainReplacesIt) {
  auto states = PassageStates::create({.max_bytes = 250, .folder = {}}).value();
  states->keep(key_of(1), state_of(200, 'a'));
  states->keep(key_of(1), state_of(240, 'b'));
  EXPECT_EQ(states->find(key_of(1))->bytes, std::string(240, 'b'));
  EXPECT_EQ(states->use().bytes, 240U);
  states->forget(key_of(1));
  EXPECT_EQ(states->use().bytes, 0U);
}

TEST(PassageStates, AFolderOutlivesTheProcessAndForgettingReachesIt) {
  const test::TemporaryFolder folder;
  const PassageStatesOptions options{.max_bytes = 100, .folder = folder.path("states")};
  {
    auto states = PassageStates::create(options).value();
    states->keep(key_of(1), state_of(90, 'a'));
    states->keep(key_of(2), state_of(90, 'b'));
  }
  auto states = PassageStates::create(options).value();
  ASSERT_NE(states->find(key_of(1)), nullptr);
  EXPECT_EQ(states->find(key_of(1))->bytes, std::string(90, 'a'));
  EXPECT_EQ(states->find(key_of(2))->bytes, std::string(90, 'b'));
  states->forget(key_of(1));
  EXPECT_EQ(states->find(key_of(1)), nullptr);
  for (const auto& file : std::filesystem::directory_iterator(options.folder))
    EXPECT_NE(file.path().extension(), ".tmp");
}

TEST(PassageStates, AFolderThatCannotBeMadeIsAnError) {
  EXPECT_EQ(PassageStates::create({.max_bytes = 1, .folder = "/dev/null/states"}).error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace casemate
