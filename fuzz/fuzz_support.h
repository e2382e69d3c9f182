// fuzz/fuzz_support.h
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "casemate/core/utf8.h"
#include "casemate/text/offset_map.h"

namespace casemate::fuzz {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the run, which the fuzzer reports with the input, where something that must hold does not.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// A file in memory that has a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
    require(fd_ >= 0, "a memory file can be made");
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      require(written > 0, "a memory file can be written");
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// The map covers its text without a gap, and all sources lie within `source_size`.
inline void require_sound(const OffsetMap& map, std::size_t text_size, std::size_t source_size) {
  std::size_t at = 0;
  for (const OffsetMap::Piece& piece : map.pieces()) {
    require(piece.text.begin == at && piece.text.end > at, "pieces cover the text in order");
    require(piece.source.begin <= piece.source.end && piece.source.end <= source_size, "sources lie in the source");
    at = piece.text.end;
  }
  require(at == text_size && map.text_size() == text_size, "pieces end with the text");
}

inline bool is_valid_utf8(std::string_view text) { return to_valid_utf8(text) == text; }

}  // namespace casemate::fuzz
