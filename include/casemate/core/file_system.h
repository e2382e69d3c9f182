// casemate/core/file_system.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

/// A file being written at its end. Closing without `sync` promises nothing after a power cut.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  /// Error: NoSpace or Io, with the path.
  [[nodiscard]] virtual Status append(std::string_view data) = 0;
  /// Forces what was written to the disk.
  [[nodiscard]] virtual Status sync() = 0;
  [[nodiscard]] virtual Status close() = 0;
};

/// A read-only file by position. Thread-safe.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Reads exactly `length` bytes at `offset` into `out`. Error: Corrupt where the file ends before that (a file cut
  /// short under us is an error here and never a SIGBUS); Io.
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::size_t length, void* out) const = 0;
};

struct FileInfo {
  std::uint64_t size = 0;
  bool is_directory = false;
  bool is_regular = false;
  std::int64_t modified_ns = 0;
};

/// The file operations that the store needs, so that tests can put a fault-injecting layer under it
/// (testing/faulty_file_system.h). Paths are UTF-8. Thread-safe. Every error names the path.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path) = 0;  ///< truncates
  /// What is there stays; a file that is not there is made.
  [[nodiscard]] virtual Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  [[nodiscard]] virtual Status rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual Status remove(const std::string& path) = 0;
  [[nodiscard]] virtual Status create_directories(const std::string& path) = 0;
  /// Makes renames, creations and removals in `path` survive a power cut.
  [[nodiscard]] virtual Status sync_directory(const std::string& path) = 0;
  /// Names (not paths), sorted by bytes.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  [[nodiscard]] virtual Result<FileInfo> info(const std::string& path) = 0;  ///< NotFound where there is none

  /// The real one (POSIX). Never null, lives for ever.
  [[nodiscard]] static FileSystem& posix();
};

/// Reads a whole file. Error: NotFound, Permission, Io; Limit where it is larger than `max_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes = UINT64_C(1) << 40U);
/// Writes through a temporary file in the same folder, synced and renamed: readers see the old or the new content.
[[nodiscard]] Status write_file_atomically(FileSystem& files, const std::string& path, std::string_view data);
/// The error that `errno` value `code` means for `path` while doing `what` ("open", "read").
[[nodiscard]] Error io_error(int code, std::string_view what, const std::string& path);
/// `folder` + "/" + `name`.
[[nodiscard]] std::string join_path(std::string_view folder, std::string_view name);
/// The folder part of `path` ("." where it has none).
[[nodiscard]] std::string parent_path(std::string_view path);

}  // namespace casemate
