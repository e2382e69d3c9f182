#include "formats/entity_alignment.h"

#include <algorithm>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

constexpr std::size_t kLongestReference = 40;
constexpr std::size_t kProbe = 16;

bool is_reference_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '#';
}

class Aligner {
 public:
  Aligner(std::string_view original, std::size_t offset, std::string_view decoded, OffsetMap& map)
      : original_(original), decoded_(decoded), offset_(offset), map_(map) {}

  void run() {
    while (to_ < decoded_.size()) {
      if (from_ < original_.size() && original_[from_] == '&' && reference()) continue;
      if (from_ < original_.size() && original_[from_] == decoded_[to_]) {
        take(1, 1);
      } else if (!line_end() && !dropped_markup()) {
        take(original_.size() - from_, decoded_.size() - to_);
      }
    }
  }

 private:
  void take(std::size_t source, std::size_t text) {
    map_.append(text, {offset_ + from_, offset_ + from_ + source});
    from_ += source;
    to_ += text;
  }

  /// True where the two go on alike (until the next reference or tag) from these places.
  bool alike(std::size_t from, std::size_t to) const {
    if (to > decoded_.size()) return false;
    for (std::size_t i = 0; i < kProbe; ++i) {
      const bool original_ends = from + i >= original_.size();
      if (original_ends) return to + i == decoded_.size();
      const char c = original_[from + i];
      if (c == '&' || c == '<' || c == '\r') return true;
      if (to + i >= decoded_.size() || c != decoded_[to + i]) return false;
    }
    return true;
  }

  std::size_t points_end(std::size_t to, int points) const {
    for (; points > 0 && to < decoded_.size(); --points) to += read_code_point(decoded_, to).length;
    return points == 0 ? to : decoded_.size() + 1;
  }

  /// At "&": the longest reading that fits is a reference; the shortest is a plain ampersand.
  bool reference() {
    std::size_t end = from_ + 1;
    while (end < original_.size() && end - from_ < kLongestReference && is_reference_char(original_[end])) ++end;
    if (end < original_.size() && original_[end] == ';') ++end;
    for (const int points : {1, 2}) {  // few references are two characters
      const std::size_t to = points_end(to_, points);
      for (std::size_t at = end; at > from_ + 2; --at) {
        if (!alike(at, to)) continue;
        take(at - from_, to - to_);
        return true;
      }
    }
    return false;
  }

  bool line_end() {
    if (from_ >= original_.size() || original_[from_] != '\r' || decoded_[to_] != '\n') return false;
    const bool pair = from_ + 1 < original_.size() && original_[from_ + 1] == '\n';
    take(pair ? 2 : 1, 1);
    return true;
  }

  /// A tag that the parser ignored in the middle of a text.
  bool dropped_markup() {
    if (from_ >= original_.size()) return false;
    if (original_[from_] == '\0') return ++from_, true;
    if (original_[from_] != '<') return false;
    const std::size_t close = original_.find('>', from_);
    if (close == std::string_view::npos) return false;
    from_ = close + 1;
    return true;
  }

  std::string_view original_;
  std::string_view decoded_;
  std::size_t offset_;
  OffsetMap& map_;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
};

}  // namespace

void align_decoded(std::string_view original, std::size_t offset, std::string_view decoded, OffsetMap& map) {
  if (original == decoded) {
    map.append(decoded.size(), {offset, offset + original.size()});
    return;
  }
  Aligner(original, offset, decoded, map).run();
}

}  // namespace casemate
