// models/part_file.h
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "core/descriptor.h"

namespace casemate {

/// NAME.part: the first bytes of a file that is being fetched, whatever source they came from. It stays when a transfer
/// ends early, and the next one goes on behind it.
class PartFile {
 public:
  /// Opens or makes `path`.part, and the folder it lies in. What lies beyond `bytes` already is thrown away.
  /// Error: NoSpace, Io, Permission, with the path.
  [[nodiscard]] static Result<PartFile> open(const std::string& path, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Error: NoSpace (with what to do), Io; Mismatch where the file would become longer than it may.
  [[nodiscard]] Status append(std::string_view data);
  /// Back to nothing.
  [[nodiscard]] Status clear();
  /// Makes the complete part the file itself, if its SHA-256 is `sha256`: synced, renamed, the folder synced.
  /// Error: Corrupt with both hashes, and the part is removed; Cancelled; NoSpace, Io.
  [[nodiscard]] Status finish(std::string_view sha256, const std::stop_token& stop);

 private:
  PartFile(Descriptor fd, std::string path, std::uint64_t size, std::uint64_t limit)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size), limit_(limit) {}
  Descriptor fd_;
  std::string path_;  ///< of the file to be
  std::uint64_t size_;
  std::uint64_t limit_;
};

/// SHA-256 of a file, hex. `on_bytes` (may be empty) is told the bytes read so far. Error: NotFound, Io, Cancelled.
[[nodiscard]] Result<std::string> hash_file(const std::string& path, const std::stop_token& stop,
                                            const std::function<void(std::uint64_t)>& on_bytes = {});

/// Bytes that an ordinary user may still write to the file system of `folder`, or of its nearest parent that exists.
/// Error: Io.
[[nodiscard]] Result<std::uint64_t> free_bytes(const std::string& folder);

}  // namespace casemate
