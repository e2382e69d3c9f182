#include "casemate/text/offset_map.h"

#include <algorithm>

namespace casemate {
namespace {

bool is_copy(const OffsetMap::Piece& piece) { return piece.text.size() == piece.source.size(); }

/// The part of `piece.source` that the text bytes [begin, end) inside `piece.text` come from.
ByteSpan source_part(const OffsetMap::Piece& piece, std::size_t begin, std::size_t end) {
  if (!is_copy(piece)) return piece.source;
  return {piece.source.begin + (begin - piece.text.begin), piece.source.begin + (end - piece.text.begin)};
}

void widen(ByteSpan& span, bool& first, ByteSpan part) {
  if (first) {
    span = part;
  } else {
    span.begin = std::min(span.begin, part.begin);
    span.end = std::max(span.end, part.end);
  }
  first = false;
}

}  // namespace

OffsetMap OffsetMap::identity(std::size_t size) {
  OffsetMap map;
  map.append(size, {0, size});
  return map;
}

void OffsetMap::append(std::size_t length, ByteSpan source) {
  if (length == 0) return;
  const std::size_t at = text_size();
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    if (source.begin < last.source.end) ascending_ = false;
    if (is_copy(last) && length == source.size() && last.source.end == source.begin) {
      last.text.end += length;
      last.source.end = source.end;
      return;
    }
  }
  pieces_.push_back({{at, at + length}, source});
}

std::size_t OffsetMap::text_size() const noexcept { return pieces_.empty() ? 0 : pieces_.back().text.end; }

std::size_t OffsetMap::piece_at(std::size_t text_offset) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), text_offset,
                                      [](std::size_t at, const Piece& piece) { return at < piece.text.begin; });
  return static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

ByteSpan OffsetMap::to_source(ByteSpan text) const {
  if (pieces_.empty()) return {};
  const std::size_t size = text_size();
  text.begin = std::min(text.begin, size);
  text.end = std::clamp(text.end, text.begin, size);
  if (text.empty()) {
    if (text.begin == size) return {pieces_.back().source.end, pieces_.back().source.end};
    const std::size_t at = source_part(pieces_[piece_at(text.begin)], text.begin, text.begin).begin;
    return {at, at};
  }
  const auto part = [&](const Piece& piece) {
    return source_part(piece, std::max(text.begin, piece.text.begin), std::min(text.end, piece.text.end));
  };
  const std::size_t from = piece_at(text.begin);
  const std::size_t to = piece_at(text.end - 1);
  ByteSpan span;
  bool first = true;
  widen(span, first, part(pieces_[from]));
  // What lies between the two ends cannot widen an ascending span.
  for (std::size_t i = ascending_ ? to : from + 1; i <= to; ++i) widen(span, first, part(pieces_[i]));
  return span;
}

ByteSpan OffsetMap::to_text(ByteSpan source) const {
  std::size_t i = 0;
  if (ascending_) {
    i = static_cast<std::size_t>(
        std::partition_point(pieces_.begin(), pieces_.end(),
                             [&](const Piece& piece) { return piece.source.end <= source.begin; }) -
        pieces_.begin());
  }
  ByteSpan span;
  bool first = true;
  std::size_t place = text_size();
  bool placed = false;
  for (; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const std::size_t begin = std::max(source.begin, piece.source.begin);
    const std::size_t end = std::min(source.end, piece.source.end);
    if (begin < end) {
      const ByteSpan part = is_copy(piece) ? ByteSpan{piece.text.begin + (begin - piece.source.begin),
                                                      piece.text.begin + (end - piece.source.begin)}
                                           : piece.text;
      widen(span, first, part);
    } else if (!placed && piece.source.begin >= source.begin) {
      place = piece.text.begin;
      placed = true;
    }
    if (ascending_ && piece.source.begin >= source.end) break;
  }
  return first ? ByteSpan{place, place} : span;
}

OffsetMap OffsetMap::after(const OffsetMap& earlier) const {
  OffsetMap map;
  for (const Piece& piece : pieces_) {
    if (!is_copy(piece) || piece.source.empty()) {
      map.append(piece.text.size(), earlier.to_source(piece.source));
      continue;
    }
    // A copied piece is cut where the earlier map's pieces end, so that what was exact stays exact.
    std::size_t at = piece.source.begin;
    while (at < piece.source.end) {
      if (at >= earlier.text_size()) {
        map.append(piece.source.end - at, earlier.to_source({at, at}));
        break;
      }
      const Piece& from = earlier.pieces_[earlier.piece_at(at)];
      const std::size_t end = std::min(piece.source.end, from.text.end);
      map.append(end - at, source_part(from, at, end));
      at = end;
    }
  }
  return map;
}

}  // namespace casemate
