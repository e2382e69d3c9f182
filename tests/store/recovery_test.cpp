#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <set>

#include "store/store_fixture.h"
#include "testing/faulty_file_system.h"

namespace casemate::test {
namespace {

using casemate::testing::FaultyFileSystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using Fault = FaultyFileSystem::Fault;
using Unsynced = FaultyFileSystem::Unsynced;

StoreOptions options_over(FaultyFileSystem& files) {
  StoreOptions options;
  options.files = &files;
  options.sqlite_vfs = files.vfs_name();
  return options;
}

/// What a store should hold: the texts of all live chunks of both tenants.
using Content = std::multiset<std::string>;

/// A life of a store: make it, add three batches, replace, delete, compact. Running it again, from any state that it
/// was interrupted in, must end in the same content.
class Scenario {
 public:
  static constexpr int kSteps = 7;

  /// Runs up to the first error; the number of steps that were acknowledged.
  int run(const std::string& path, const StoreOptions& options) {
    error_ = {};
    Result<std::unique_ptr<Store>> store = Store::open(path, options);
    if (!store && store.error().code == ErrorCode::kNotFound) store = Store::create(path, test_encoder(), options);
    if (!store) return stop(store.error(), 0);
    for (int step = 1; step < kSteps; ++step) {
      if (const Status done = take(**store, step); !done) return stop(done.error(), step);
    }
    return kSteps;
  }

  /// Content after `steps` acknowledged steps of a first run.
  static Content content(int steps) {
    Content content;
    if (steps >= 2) content.insert({"apple one", "apple two", "foreign fruit"});
    if (steps >= 3) content.insert({"banana one", "banana two", "banana three"});
    if (steps >= 4) content.insert({"cherry"});
    if (steps >= 5) content.erase("apple one"), content.erase("apple two"), content.insert("apple anew");
    if (steps >= 6) content.erase("banana one"), content.erase("banana two"), content.erase("banana three");
    return content;
  }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  int stop(const Error& error, int acknowledged) {
    error_ = error;
    return acknowledged;
  }
  static Status take(Store& store, int step) {
    std::vector<NewDocument> batch;
    switch (step) {
      case 1:
        batch = {test_document("t", "a", {"apple one", "apple two"}), test_document("u", "a", {"foreign fruit"})};
        break;
      case 2:
        batch = {test_document("t", "b", {"banana one", "banana two", "banana three"})};
        break;
      case 3:
        batch = {test_document("t", "c", {"cherry"})};
        break;
      case 4:
        batch = {test_document("t", "a", {"apple anew"})};
        break;
      case 5: {
        const std::vector<std::string> ids = {"b"};
        const auto deleted = store.delete_documents("t", ids);
        return deleted ? Status() : Status(deleted.error());
      }
      default: {
        const auto compacted = store.compact();
        return compacted ? Status() : Status(compacted.error());
      }
    }
    const auto added = store.add_documents(batch);
    return added ? Status() : Status(added.error());
  }
  Error error_;
};

Content content_of(const Store& store) {
  Content content;
  for (const char* tenant : {"t", "u"}) {
    for (std::string& text : texts_with_vectors(store, tenant)) content.insert(std::move(text));
  }
  return content;
}

Content searchable(const Store& store) {
  Content content;
  for (const char* tenant : {"t", "u"}) {
    for (std::string& text : bm25_texts(store, tenant, "apple banana cherry foreign")) content.insert(std::move(text));
  }
  return content;
}

/// The store holds what was acknowledged, or that and the step that was under way, and all its parts agree.
void expect_whole(const std::string& path, const StoreOptions& options, int acknowledged) {
  const auto store = Store::open(path, options);
  if (!store && acknowledged == 0) {
    EXPECT_EQ(store.error().code, ErrorCode::kNotFound) << store.error().message;
    return;
  }
  ASSERT_TRUE(store.ok()) << store.error().message;
  EXPECT_TRUE((*store)->open_report().damaged.empty());
  const Content found = content_of(**store);
  EXPECT_THAT(found, AnyOf(Scenario::content(acknowledged), Scenario::content(acknowledged + 1)));
  EXPECT_EQ(searchable(**store), found);
  const CheckReport report = value_of((*store)->check());
  for (const CheckProblem& problem : report.problems) ADD_FAILURE() << problem.file << ": " << problem.what;
}

std::uint64_t operations_of_scenario() {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  EXPECT_EQ(Scenario().run(folder.path("s"), options_over(files)), Scenario::kSteps);
  return files.operations();
}

class PowerCut : public ::testing::TestWithParam<Unsynced> {};

TEST_P(PowerCut, AtAnyWriteOrSyncLosesNothingThatWasAcknowledged) {
  const std::uint64_t operations = operations_of_scenario();
  ASSERT_GT(operations, 100U) << "the scenario must go through the faulty disk";
  for (std::uint64_t at = 1; at <= operations; ++at) {
    SCOPED_TRACE("power cut at operation " + std::to_string(at) + " of " + std::to_string(operations));
    const TemporaryFolder folder;
    const std::string path = folder.path("s");
    Scenario scenario;
    int acknowledged = 0;
    {
      FaultyFileSystem files;
      files.arm(Fault::kPowerCut, at);
      acknowledged = scenario.run(path, options_over(files));
      ASSERT_TRUE(files.tripped());
      ASSERT_TRUE(files.restore_durable_state(GetParam(), at).ok());
    }
    FaultyFileSystem files;  // for its speed: it leaves out real syncs
    expect_whole(path, options_over(files), acknowledged);
    ASSERT_EQ(scenario.run(path, options_over(files)), Scenario::kSteps) << scenario.error().message;
    expect_whole(path, options_over(files), Scenario::kSteps);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PowerCut, ::testing::Values(Unsynced::kDropped, Unsynced::kTorn, Unsynced::kRandom));

TEST(PowerCutDuringRecovery, LosesNothingEither) {
  // A cut in the middle leaves a log to recover; then the recovery itself is cut at each of its own operations.
  const std::uint64_t operations = operations_of_scenario();
  for (std::uint64_t first = operations / 3; first < operations; first += operations / 5) {
    for (std::uint64_t second = 1; second <= 12; ++second) {
      SCOPED_TRACE(std::to_string(first) + ", then " + std::to_string(second));
      const TemporaryFolder folder;
      const std::string path = folder.path("s");
      FaultyFileSystem files;
      files.arm(Fault::kPowerCut, first);
      const int acknowledged = Scenario().run(path, options_over(files));
      ASSERT_TRUE(files.restore_durable_state(Unsynced::kRandom, first).ok());
      files.arm(Fault::kPowerCut, second);
      (void)Store::open(path, options_over(files)).ok();
      ASSERT_TRUE(files.restore_durable_state(Unsynced::kRandom, second).ok());
      expect_whole(path, options_over(files), acknowledged);
      if (HasFailure()) return;
    }
  }
}

class FailingDisk : public ::testing::TestWithParam<Fault> {};

TEST_P(FailingDisk, AtAnyWriteGivesAClearErrorAndAUsableStore) {
  const std::uint64_t operations = operations_of_scenario();
  std::uint64_t errors = 0;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    SCOPED_TRACE("fault at operation " + std::to_string(at));
    const TemporaryFolder folder;
    const std::string path = folder.path("s");
    FaultyFileSystem files;
    files.arm(GetParam(), at);
    Scenario scenario;
    const int acknowledged = scenario.run(path, options_over(files));
    if (acknowledged < Scenario::kSteps) {
      ++errors;
      const ErrorCode expected = GetParam() == Fault::kDiskFull ? ErrorCode::kNoSpace : ErrorCode::kIo;
      EXPECT_EQ(scenario.error().code, expected) << scenario.error().message;
      EXPECT_THAT(scenario.error().message, HasSubstr(folder.root()));
    }
    files.disarm();
    expect_whole(path, options_over(files), acknowledged);
    ASSERT_EQ(scenario.run(path, options_over(files)), Scenario::kSteps) << scenario.error().message;
    expect_whole(path, options_over(files), Scenario::kSteps);
    if (HasFailure()) return;
  }
  EXPECT_GT(errors, operations / 4);
}

INSTANTIATE_TEST_SUITE_P(All, FailingDisk, ::testing::Values(Fault::kDiskFull, Fault::kIoError));

TEST(FailingDiskInOneProcess, StaysUsableOnceThereIsSpaceAgain) {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  const auto store = value_of(Store::create(folder.path("s"), test_encoder(), options_over(files)));
  add(*store, {test_document("t", "a", {"apple"})});
  for (std::uint64_t at = 1; at <= 30; ++at) {
    const std::vector<NewDocument> batch = {
        test_document("t", "n" + std::to_string(at), {"apple " + std::to_string(at)})};
    files.arm(Fault::kDiskFull, at);
    const auto failed = store->add_documents(batch);
    if (!failed) {
      EXPECT_EQ(failed.error().code, ErrorCode::kNoSpace) << failed.error().message;
    }
    EXPECT_EQ(texts_with_vectors(*store, "t").size(), bm25_texts(*store, "t", "apple").size());
    files.disarm();
    EXPECT_TRUE(store->add_documents(batch).ok());
    EXPECT_EQ(texts_with_vectors(*store, "t").size(), at + 1);
  }
  EXPECT_TRUE(value_of(store->check()).ok());
}

TEST(PowerCutDuringBackup, LeavesNoHalfBackup) {
  const TemporaryFolder origin;
  FaultyFileSystem files;
  ASSERT_EQ(Scenario().run(origin.path("s"), options_over(files)), Scenario::kSteps);
  const auto store = value_of(Store::open(origin.path("s"), options_over(files)));
  const std::uint64_t before = files.operations();
  ASSERT_TRUE(store->backup(origin.path("whole")).ok());
  const std::uint64_t operations = files.operations() - before;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    SCOPED_TRACE(at);
    const TemporaryFolder folder;
    FaultyFileSystem target;
    StoreOptions options = options_over(target);
    options.read_only = true;
    {
      const auto source = value_of(Store::open(origin.path("whole"), options));
      target.arm(Fault::kPowerCut, at);
      EXPECT_FALSE(source->backup(folder.path("b")).ok());
    }
    ASSERT_TRUE(target.restore_durable_state(Unsynced::kRandom, at).ok());
    const auto half = Store::open(folder.path("b"), options);
    if (half) {
      EXPECT_EQ(content_of(**half), Scenario::content(Scenario::kSteps)) << "published means complete";
    } else {
      EXPECT_EQ(half.error().code, ErrorCode::kNotFound) << half.error().message;
      const auto source = value_of(Store::open(origin.path("whole"), options));
      EXPECT_TRUE(source->backup(folder.path("b")).ok()) << "an interrupted backup can be made again";
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace casemate::test
