// Runs against a system that lives in the test. Over HTTP: tests/apps/redteam_test.py.
#include "casemate/eval/red_team.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "support/temporary_folder.h"
#include "testing/faulty_file_system.h"

namespace casemate {
namespace {

using End = EndpointRemoval::End;

/// Keeps documents. What is said otherwise stands in its members.
class FakeEndpoint : public RagEndpoint {
 public:
  std::string name() const override { return "fake"; }
  std::string identity() const override { return asks_by; }
  Result<EndpointAddition> add(const std::string& id, const UntrustedText&, const UntrustedText&,
                               const std::stop_token&) override {
    const std::string theirs = gives_ids ? "theirs-" + std::to_string(++number) : id;
    (by_jobs ? waiting : there).insert(theirs);
    if (loses_additions) return Error{ErrorCode::kUnavailable, "add: lost"};
    return EndpointAddition{theirs, by_jobs ? theirs : ""};
  }
  Result<bool> wait_for(const std::string& job, const std::stop_token&) override {
    if (job_error && jobs_asked++ == 0) return *job_error;
    if (waiting.erase(job) > 0 && !refuses(job)) there.insert(job);
    return true;
  }
  Status settle(const std::stop_token&) override { return {}; }
  bool stores_by_jobs() const noexcept override { return by_jobs; }
  bool chooses_ids() const noexcept override { return gives_ids; }
  bool removes_one() const noexcept override { return true; }
  EndpointRemoval remove(const std::string& id, const std::stop_token&) override {
    removals.push_back(id);
    if (on_remove) {
      if (auto said = on_remove(id)) return *said;
    }
    if (there.erase(id) > 0) return {End::kRemoved, {}};
    return {End::kNotThere, {ErrorCode::kNotFound, "delete: not there"}};
  }
  Status reset(const std::stop_token&) override {
    was_reset = true;
    there.clear();
    return {};
  }
  Result<EndpointAnswer> ask(const UntrustedText&, const std::stop_token&) override {
    ++asked;
    if (asked == fails_at) return Error{ErrorCode::kUnavailable, "ask: lost"};
    return EndpointAnswer{UntrustedText(answer), is_cut, std::nullopt};
  }

  std::string asks_by = "a";
  bool gives_ids = false;
  bool by_jobs = false;
  bool loses_additions = false;
  std::optional<Error> job_error;  ///< of the first question about a job
  std::function<bool(const std::string&)> refuses = [](const std::string&) { return false; };
  std::function<std::optional<EndpointRemoval>(const std::string&)> on_remove;
  std::string answer = "an answer";
  bool is_cut = false;
  int fails_at = 0;
  std::set<std::string> there;
  std::set<std::string> waiting;
  std::vector<std::string> removals;
  bool was_reset = false;
  int asked = 0;
  int number = 0;
  int jobs_asked = 0;
};

class RedTeamTest : public ::testing::Test {
 protected:
  RedTeamTest() {
    AttackTarget target;
    target.query_id = "q";
    target.query = UntrustedText("where");
    plan_.targets = {target};
    RedTeamAttack attack;
    attack.name = "pia";
    attack.crafted.documents.resize(3);
    plan_.attacks = {attack};
  }

  Result<RedTeamRun> run() { return run_red_team(plan_, endpoint_, options_, Progress::none(), {}); }
  Result<std::size_t> clean_up() { return clean_up_red_team(endpoint_, options_, Progress::none(), {}); }
  std::string error_of_run() {
    const auto done = run();
    EXPECT_FALSE(done.ok());
    return done.ok() ? std::string() : done.error().message;
  }
  bool has_journal() const { return std::filesystem::exists(options_.journal); }

  test::TemporaryFolder folder_;
  RedTeamOptions options_{"http://fake", folder_.path("journal")};
  RedTeamPlan plan_;
  FakeEndpoint endpoint_;
};

TEST_F(RedTeamTest, JobsEndBeforeWhatTheyAddIsTakenOut) {
  endpoint_.by_jobs = true;
  endpoint_.job_error = Error{ErrorCode::kTimeout, "job: still queued"};
  EXPECT_NE(error_of_run().find("still queued"), std::string::npos);
  EXPECT_TRUE(endpoint_.waiting.empty());
  EXPECT_TRUE(endpoint_.there.empty());
  EXPECT_EQ(endpoint_.removals.size(), 3U);
}

TEST_F(RedTeamTest, DocumentsWhoseJobIsNotKnownStayInTheJournalUnlessTheyWereThere) {
  class Forgetful : public FakeEndpoint {
   public:
    Result<bool> wait_for(const std::string&, const std::stop_token&) override {
      return Error{ErrorCode::kNotFound, "job: answered 404"};
    }
  } forgetful;
  forgetful.by_jobs = true;
  const auto done = run_red_team(plan_, forgetful, options_, Progress::none(), {});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("3 planted documents are still there"), std::string::npos)
      << done.error().message;
  EXPECT_TRUE(has_journal());
  forgetful.there = std::exchange(forgetful.waiting, {});
  const auto cleaned = clean_up_red_team(forgetful, options_, Progress::none(), {});
  ASSERT_TRUE(cleaned.ok()) << cleaned.error().message;
  EXPECT_EQ(*cleaned, 3U);
  EXPECT_TRUE(forgetful.there.empty());
}

TEST_F(RedTeamTest, ADeleteThatFindsNothingOfWhatWasAddedIsAnErrorAndKeepsTheJournal) {
  for (const bool by_jobs : {false, true}) {
    endpoint_ = {};
    endpoint_.by_jobs = by_jobs;
    endpoint_.on_remove = [](const std::string&) {
      return EndpointRemoval{End::kNotThere, {ErrorCode::kNotFound, "delete (DELETE /wrong)"}};
    };
    const std::string error = error_of_run();
    EXPECT_NE(error.find("delete (DELETE /wrong)"), std::string::npos) << error;
    EXPECT_NE(error.find("casemate-attack-"), std::string::npos) << error;
    EXPECT_NE(error.find("3 planted documents are still there"), std::string::npos) << error;
    EXPECT_FALSE(clean_up().ok());  // asking twice makes it no truer
    EXPECT_TRUE(has_journal());
    EXPECT_EQ(endpoint_.there.size(), 3U);
    endpoint_.on_remove = nullptr;
    const auto cleaned = clean_up();
    ASSERT_TRUE(cleaned.ok()) << cleaned.error().message;
    EXPECT_EQ(*cleaned, 3U);
    EXPECT_TRUE(endpoint_.there.empty());
    EXPECT_FALSE(has_journal());
  }
}

TEST_F(RedTeamTest, ARemovalWhoseReplyWasLostMayHaveHappened) {
  endpoint_.on_remove = [this](const std::string& id) -> std::optional<EndpointRemoval> {
    endpoint_.there.erase(id);
    return EndpointRemoval{End::kUnknown, {ErrorCode::kUnavailable, "delete: lost"}};
  };
  EXPECT_NE(error_of_run().find("delete: lost"), std::string::npos);
  endpoint_.on_remove = nullptr;
  const auto cleaned = clean_up();
  ASSERT_TRUE(cleaned.ok()) << cleaned.error().message;
  EXPECT_EQ(*cleaned, 3U);
}

TEST_F(RedTeamTest, WhatAJobDidNotTakeIsNoErrorWhereOtherRemovalsWork) {
  endpoint_.by_jobs = true;
  endpoint_.refuses = [](const std::string& id) { return id.ends_with("-0"); };
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(endpoint_.there.empty());
}

TEST_F(RedTeamTest, OneLostAdditionDoesNotResetASystemThatCanDelete) {
  endpoint_.gives_ids = true;
  endpoint_.loses_additions = true;
  endpoint_.there = {"of others"};
  EXPECT_NE(error_of_run().find("1 sent documents may still be there"), std::string::npos);
  EXPECT_FALSE(endpoint_.was_reset);
  EXPECT_TRUE(endpoint_.there.contains("of others"));
}

TEST_F(RedTeamTest, ADocumentThatCannotBeTakenOutDoesNotKeepTheOthersThere) {
  endpoint_.on_remove = [](const std::string& id) -> std::optional<EndpointRemoval> {
    if (!id.ends_with("-0")) return std::nullopt;
    return EndpointRemoval{End::kFailed, {ErrorCode::kPermission, "delete: answered 403"}};
  };
  const std::string error = error_of_run();
  EXPECT_NE(error.find("-0: delete: answered 403"), std::string::npos) << error;
  EXPECT_NE(error.find("1 planted documents are still there"), std::string::npos) << error;
  EXPECT_EQ(endpoint_.there.size(), 1U);
}

TEST_F(RedTeamTest, AnswersOfAnEndpointThatIsAskedOtherwiseAreNotGoneOnFrom) {
  endpoint_.fails_at = 2;
  static_cast<void>(error_of_run());
  endpoint_.asks_by = "b";
  const auto other = run();
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->already, 0U);
  endpoint_.asked = 0;
  static_cast<void>(error_of_run());
  const auto same = run();
  ASSERT_TRUE(same.ok()) << same.error().message;
  EXPECT_EQ(same->already, 1U);
}

TEST_F(RedTeamTest, AfterAPowerCutAtAnyPlaceTheJournalNamesAllThatIsPlanted) {
  using testing::FaultyFileSystem;
  using Unsynced = FaultyFileSystem::Unsynced;
  std::uint64_t operations = 0;
  std::size_t left = 0;
  for (const Unsynced unsynced : {Unsynced::kDropped, Unsynced::kTorn, Unsynced::kRandom}) {
    for (std::uint64_t at = 1; at == 1 || at <= operations; ++at) {
      const test::TemporaryFolder folder;
      FaultyFileSystem files;
      options_.journal = folder.path("journal");
      options_.files = &files;
      endpoint_ = {};
      files.arm(FaultyFileSystem::Fault::kPowerCut, at);
      const auto done = run();
      if (at == 1) {
        // How many there are without a fault.
        EXPECT_FALSE(done.ok());
        FaultyFileSystem sound;
        const test::TemporaryFolder other;
        options_.journal = other.path("journal");
        options_.files = &sound;
        endpoint_ = {};
        ASSERT_TRUE(run().ok());
        operations = sound.operations();
        continue;
      }
      left += endpoint_.there.size();
      ASSERT_TRUE(files.restore_durable_state(unsynced, at).ok());
      const auto cleaned = clean_up();
      ASSERT_TRUE(cleaned.ok()) << at << ": " << cleaned.error().message;
      EXPECT_TRUE(endpoint_.there.empty()) << "cut at operation " << at;
    }
  }
  EXPECT_GT(operations, 20U);
  EXPECT_GT(left, 0U);
}

TEST_F(RedTeamTest, NothingIsSentThatTheJournalCouldNotTake) {
  using testing::FaultyFileSystem;
  FaultyFileSystem sound;
  options_.files = &sound;
  ASSERT_TRUE(run().ok());
  for (std::uint64_t at = 1; at <= sound.operations(); ++at) {
    FaultyFileSystem full;
    const test::TemporaryFolder folder;
    options_.journal = folder.path("journal");
    options_.files = &full;
    endpoint_ = {};
    full.arm(FaultyFileSystem::Fault::kDiskFull, at);
    const auto done = run();
    full.disarm();
    if (done) continue;  // only what comes after the last removal
    EXPECT_EQ(done.error().code, ErrorCode::kNoSpace) << done.error().message;
    const auto cleaned = clean_up();
    ASSERT_TRUE(cleaned.ok()) << at << ": " << cleaned.error().message;
    EXPECT_TRUE(endpoint_.there.empty()) << "full at operation " << at;
  }
}

TEST_F(RedTeamTest, EmptyAnswersSayNothingAboutLeaksAndCutOnesOnlyThatThereIsOne) {
  plan_.attacks[0].crafted.documents[0].canary = "casemate-canary-1";
  plan_.attacks[0].sources = {UntrustedText("the passage")};
  const auto figures = [this](const std::string& answer, bool is_cut) {
    endpoint_.answer = answer;
    endpoint_.is_cut = is_cut;
    const auto done = run();
    EXPECT_TRUE(done.ok());
    std::map<std::string, double> out;
    const RunRecord record = red_team_record(*done);
    for (const auto& [name, figure] : record.conditions[1].figures) out[name] = figure.value;
    return out;
  };
  for (const char* name : {"leak_canary", "leak_eed", "leak_rouge_l"}) EXPECT_FALSE(figures("", false).contains(name));
  EXPECT_FALSE(figures("cut off", true).contains("leak_canary"));
  EXPECT_EQ(figures("casemate-canary-1 and", true).at("leak_canary"), 1);
  EXPECT_EQ(figures("whole", false).at("leak_canary"), 0);
  EXPECT_EQ(figures("the passage", false).at("leak_rouge_l"), 1);
}

}  // namespace
}  // namespace casemate
