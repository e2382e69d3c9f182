#include "llm/text_stream.h"

#include <algorithm>

#include "casemate/core/utf8.h"

namespace casemate::llm {
namespace {

/// Bytes at the end of `text` that may be the start of a character.
std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t needs = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : byte >= 0xC0U ? 2 : 1;
    if (needs <= back) return 0;
    // A prefix that can never become valid (an overlong form, say) reads as more than one broken sequence.
    return read_code_point(text, text.size() - back).length == back ? back : 0;
  }
  return 0;
}

/// Length of the longest end of `text` that begins one of `strings`.
std::size_t held_back(std::string_view text, std::span<const std::string> strings) {
  std::size_t longest = 0;
  for (const std::string& string : strings) {
    const std::size_t most = std::min(text.size(), string.size() - 1);
    for (std::size_t length = most; length > longest; --length) {
      if (text.ends_with(std::string_view(string).substr(0, length))) longest = length;
    }
  }
  return longest;
}

}  // namespace

bool TextStream::push(std::string_view bytes) {
  if (met_stop_string_ || refused_) return false;
  bytes_ += bytes;
  const std::size_t whole = bytes_.size() - unfinished_bytes(bytes_);
  pending_ += to_valid_utf8(std::string_view(bytes_).substr(0, whole));
  bytes_.erase(0, whole);
  std::size_t first = std::string::npos;
  for (const std::string& string : stop_strings_) first = std::min(first, pending_.find(string));
  if (first != std::string::npos) {
    met_stop_string_ = true;
    emit(std::string_view(pending_).substr(0, first));
    pending_.clear();
    bytes_.clear();
    return false;
  }
  std::size_t ready = pending_.size() - held_back(pending_, stop_strings_);
  ready = utf8_prefix(pending_, ready).size();
  emit(std::string_view(pending_).substr(0, ready));
  pending_.erase(0, ready);
  return !refused_;
}

void TextStream::finish() {
  if (met_stop_string_) return;
  pending_ += to_valid_utf8(bytes_);
  bytes_.clear();
  if (!refused_) emit(pending_);
  pending_.clear();
}

void TextStream::emit(std::string_view text) {
  if (text.empty()) return;
  text_ += text;
  if (on_text_ && !on_text_(text)) refused_ = true;
}

}  // namespace casemate::llm
