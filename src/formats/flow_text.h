// formats/flow_text.h
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "casemate/text/offset_map.h"

namespace casemate {

/// Builds plain text from the texts of a page: runs of blanks become one, blocks are parted by line ends. The offsets
/// are those of the texts put one after the other.
class FlowText {
 public:
  /// Adds text whose first byte is byte `offset` of all texts. With `preformatted`, blanks and line ends stay.
  void add(std::string_view text, std::size_t offset, bool preformatted);
  /// The next text begins on a new line (1) or after a blank line (2), or after a tab (0).
  void part(int line_ends);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const OffsetMap& offsets() const noexcept { return offsets_; }

 private:
  void put(std::string_view text, ByteSpan from);
  void separate(std::size_t offset);

  std::string text_;
  OffsetMap offsets_;
  int line_ends_ = 0;
  bool tab_ = false;
  bool blank_ = false;
  ByteSpan blank_from_;
};

}  // namespace casemate
