// casemate/text/offset_map.h
#pragma once

#include <cstddef>
#include <vector>

namespace casemate {

/// Bytes [begin, end) of some text.
struct ByteSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  [[nodiscard]] bool empty() const noexcept { return begin == end; }
  friend bool operator==(const ByteSpan&, const ByteSpan&) = default;
};

/// Where each byte of a text that was made from a source (cleaned, decoded, extracted) came from.
///
/// The text is covered by pieces in order. A piece whose text and source have the same length is a copy: its bytes
/// correspond one by one. Any other piece corresponds as a whole: an entity and its character, three broken bytes and
/// one U+FFFD; an empty source is text that was put in (a line break between blocks), an empty text is never stored.
/// Source bytes that no piece names were left out. Sources usually ascend, but need not (text that an HTML parser
/// moves out of a table). Building is amortised O(1) a piece; look-ups are O(log pieces), `to_text` O(pieces) for a
/// map whose sources do not ascend. Not thread-safe while it is built; afterwards any number of readers.
class OffsetMap {
 public:
  struct Piece {
    ByteSpan text;
    ByteSpan source;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  OffsetMap() = default;
  /// The map of a text that equals its source.
  [[nodiscard]] static OffsetMap identity(std::size_t size);

  /// Says that the next `length` bytes of text come from `source`. `length` 0 is ignored.
  void append(std::size_t length, ByteSpan source);

  /// Length of the text in bytes.
  [[nodiscard]] std::size_t text_size() const noexcept;
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  /// The smallest source span that holds the sources of all bytes of `text`; text that was put in counts as the point
  /// where it was put. An empty span gives an empty span. Positions beyond the end count as the end.
  [[nodiscard]] ByteSpan to_source(ByteSpan text) const;
  /// The smallest text span that holds all text made from bytes of `source`; empty (at the place where it would be)
  /// where none was kept.
  [[nodiscard]] ByteSpan to_text(ByteSpan source) const;

  /// The map from this map's text to the source of `earlier`, whose text is the source of this map.
  [[nodiscard]] OffsetMap after(const OffsetMap& earlier) const;

  friend bool operator==(const OffsetMap&, const OffsetMap&) = default;

 private:
  [[nodiscard]] std::size_t piece_at(std::size_t text_offset) const;

  std::vector<Piece> pieces_;
  bool ascending_ = true;
};

}  // namespace casemate
