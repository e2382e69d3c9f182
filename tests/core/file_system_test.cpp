#include "casemate/core/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

TEST(FileSystem, WritesAtomicallyAndReadsBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("a/b/file");
  ASSERT_TRUE(FileSystem::posix().create_directories(parent_path(path)).ok());
  ASSERT_TRUE(write_file_atomically(FileSystem::posix(), path, "one").ok());
  ASSERT_TRUE(write_file_atomically(FileSystem::posix(), path, "two").ok());
  EXPECT_EQ(*read_file(path), "two");
  EXPECT_EQ(FileSystem::posix().list(parent_path(path))->size(), 1U);
}

TEST(FileSystem, ErrorsNameThePathAndTheKind) {
  const test::TemporaryFolder folder;
  const auto missing = read_file(folder.path("missing"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find(folder.path("missing")), std::string::npos);
  EXPECT_EQ(read_file(folder.path("")).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(io_error(ENOSPC, "write", "x").code, ErrorCode::kNoSpace);
  EXPECT_EQ(io_error(EACCES, "write", "x").code, ErrorCode::kPermission);
}

TEST(FileSystem, AFileCutShortUnderTheReaderIsAnErrorAndNotACrash) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path("cut");
  ASSERT_TRUE(write_file_atomically(FileSystem::posix(), path, std::string(10000, 'x')).ok());
  const auto file = FileSystem::posix().open(path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  std::string out(10000, '\0');
  EXPECT_EQ((*file)->read(0, out.size(), out.data()).error().code, ErrorCode::kCorrupt);
}

TEST(FileSystem, AFileOverTheLimitIsRefused) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomically(FileSystem::posix(), folder.path("big"), "12345").ok());
  EXPECT_EQ(read_file(folder.path("big"), 4).error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace casemate
