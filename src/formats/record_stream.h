// formats/record_stream.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "formats/input_file.h"

namespace casemate {

/// The bytes of a file one after the other through a fixed buffer.
class ByteStream {
 public:
  explicit ByteStream(const InputFile& file) : file_(file) { buffer_.resize(256 * 1024); }
  /// The next byte (0 to 255), or -1 at the end or on an error (see `status`).
  int next() {
    if (at_ == have_ && !fill()) return -1;
    return static_cast<unsigned char>(buffer_[at_++]);
  }
  int peek() {
    if (at_ == have_ && !fill()) return -1;
    return static_cast<unsigned char>(buffer_[at_]);
  }
  /// Offset of the next byte in the file.
  [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(start_) + at_; }
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  /// Reads up to and with the next "\n" into `line` (without it), at most `max_bytes`; the rest of a longer line is
  /// passed over. False at the end of the file.
  bool line(std::string& line, std::size_t max_bytes, bool& too_long);

 private:
  bool fill();

  const InputFile& file_;
  std::string buffer_;
  std::uint64_t start_ = 0;
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  Status status_;
};

}  // namespace casemate
