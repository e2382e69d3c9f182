#include "testing/faulty_file_system.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "support/temporary_folder.h"

namespace casemate::test {
namespace {

using casemate::testing::FaultyFileSystem;
using Unsynced = FaultyFileSystem::Unsynced;

std::string content(const std::string& path) {
  const auto data = read_file(path);
  return data ? *data : "(none)";
}

TEST(SimulatedDisk, KeepsAfterAPowerCutWhatWasSyncedAndNothingElse) {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  auto kept = std::move(*files.create(folder.path("kept")));
  ASSERT_TRUE(kept->append("synced").ok());
  ASSERT_TRUE(kept->sync().ok());
  ASSERT_TRUE(kept->append(" lost").ok());
  auto unnamed = std::move(*files.create(folder.path("unnamed")));
  ASSERT_TRUE(files.sync_directory(folder.root()).ok());
  ASSERT_TRUE(files.rename(folder.path("unnamed"), folder.path("renamed")).ok());
  auto late = std::move(*files.create(folder.path("late")));
  ASSERT_TRUE(late->append("x").ok());
  ASSERT_TRUE(late->sync().ok());
  ASSERT_TRUE(files.restore_durable_state(Unsynced::kDropped).ok());
  EXPECT_EQ(content(folder.path("kept")), "synced");
  EXPECT_EQ(content(folder.path("unnamed")), "") << "the rename was not synced";
  EXPECT_EQ(content(folder.path("renamed")), "(none)");
  EXPECT_EQ(content(folder.path("late")), "(none)") << "its folder was not synced";
}

TEST(SimulatedDisk, TearsTheLastWrite) {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  auto file = std::move(*files.create(folder.path("f")));
  ASSERT_TRUE(file->append("first").ok());
  ASSERT_TRUE(file->append("12345678").ok());
  ASSERT_TRUE(files.restore_durable_state(Unsynced::kTorn).ok());
  EXPECT_EQ(content(folder.path("f")), "first1234");
}

TEST(SimulatedDisk, FailsTheOperationThatItWasToldTo) {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  files.arm(FaultyFileSystem::Fault::kIoError, 2);
  auto file = std::move(*files.create(folder.path("f")));
  EXPECT_EQ(file->append("a").error().code, ErrorCode::kIo);
  EXPECT_TRUE(file->append("b").ok());
  files.arm(FaultyFileSystem::Fault::kDiskFull, 1);
  EXPECT_EQ(file->append("c").error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(file->append("c").error().code, ErrorCode::kNoSpace);
  EXPECT_TRUE(file->sync().ok()) << "a full disk can still sync";
  files.disarm();
  EXPECT_TRUE(file->append("d").ok());
  files.arm(FaultyFileSystem::Fault::kPowerCut, 1);
  EXPECT_FALSE(file->sync().ok());
  EXPECT_FALSE(files.open(folder.path("f")).ok());
}

/// Runs SQL through the faulty VFS with the given durability setting; after a cut at the end, the rows that are left.
int rows_after_power_cut(const std::string& synchronous) {
  const TemporaryFolder folder;
  FaultyFileSystem files;
  const std::string path = folder.path("x.db");
  sqlite3* database = nullptr;
  const auto open = [&] {
    return sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           files.vfs_name().c_str());
  };
  const auto run = [&](const std::string& sql) {
    return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(open(), SQLITE_OK);
  EXPECT_EQ(
      run("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1); PRAGMA wal_checkpoint(TRUNCATE);"),
      SQLITE_OK);
  EXPECT_TRUE(files.sync_directory(folder.root()).ok());
  EXPECT_EQ(run("PRAGMA synchronous=" + synchronous + "; INSERT INTO t VALUES(2)"), SQLITE_OK);
  files.arm(FaultyFileSystem::Fault::kPowerCut, 1);
  EXPECT_NE(run("INSERT INTO t VALUES(3)"), SQLITE_OK);
  sqlite3_close(database);
  EXPECT_TRUE(files.restore_durable_state(Unsynced::kDropped).ok());
  EXPECT_EQ(open(), SQLITE_OK);
  int rows = 0;
  EXPECT_EQ(sqlite3_exec(
                database, "SELECT count(*) FROM t",
                [](void* out, int, char** values, char**) {
                  *static_cast<int*>(out) = std::stoi(values[0]);
                  return 0;
                },
                &rows, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  return rows;
}

TEST(SimulatedDisk, ShowsTheDifferenceThatFullSynchronisationMakes) {
  EXPECT_EQ(rows_after_power_cut("FULL"), 2);
  EXPECT_EQ(rows_after_power_cut("NORMAL"), 1) << "in WAL mode NORMAL may lose the last commits, and here it must";
}

}  // namespace
}  // namespace casemate::test
