// formats/input_file.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "casemate/core/status.h"

namespace casemate {

/// A regular file, opened for reading without ever waiting: FIFOs, devices and sockets are refused. Reads at explicit
/// offsets only.
class InputFile {
 public:
  /// Error: NotFound, Permission, Io; InvalidInput where it is no regular file. Messages begin with `shown`.
  [[nodiscard]] static Result<InputFile> open(const std::string& path, std::string shown);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }
  /// Reads up to `capacity` bytes at `offset`; 0 at the end.
  [[nodiscard]] Result<std::size_t> read(std::uint64_t offset, char* out, std::size_t capacity) const;
  /// The whole file. Error: Limit where it is longer than `max_bytes`.
  [[nodiscard]] Result<std::string> read_all(std::uint64_t max_bytes) const;
  /// The first `max_bytes`.
  [[nodiscard]] Result<std::string> head(std::size_t max_bytes) const;

 private:
  InputFile(int fd, std::uint64_t size, std::string shown) : fd_(fd), size_(size), shown_(std::move(shown)) {}
  int fd_;
  std::uint64_t size_;
  std::string shown_;
};

/// `path` as messages show it.
[[nodiscard]] std::string shown_path(const std::string& path);

}  // namespace casemate
