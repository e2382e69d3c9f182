#include "casemate/text/segmentation.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <memory>
#include <string>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

/// ICU counts in 32 bits, so longer texts are cut here (at a line end where one is near).
constexpr std::size_t kWindowBytes = std::size_t{64} << 20U;
constexpr std::size_t kWrappedLineBytes = 40;

struct CloseIterator {
  void operator()(UBreakIterator* iterator) const { ubrk_close(iterator); }
};
struct CloseText {
  void operator()(UText* text) const { utext_close(text); }
};
using Iterator = std::unique_ptr<UBreakIterator, CloseIterator>;
using Text = std::unique_ptr<UText, CloseText>;

std::size_t window_end(std::string_view text, std::size_t begin) {
  if (text.size() - begin <= kWindowBytes) return text.size();
  const std::string_view window = utf8_prefix(text.substr(begin), kWindowBytes);
  const std::size_t line = window.rfind('\n');
  return begin + (line != std::string_view::npos && line > 0 ? line + 1 : window.size());
}

/// Calls visit(begin, end, rule status) for each segment of `text`. Without ICU data (a broken installation) a window
/// is one segment of status 0.
template <typename Visit>
void for_each_segment(std::string_view text, UBreakIteratorType type, Visit visit) {
  UErrorCode error = U_ZERO_ERROR;
  const Iterator iterator(ubrk_open(type, "", nullptr, 0, &error));
  for (std::size_t base = 0; base < text.size();) {
    const std::size_t end = window_end(text, base);
    const std::string_view window = text.substr(base, end - base);
    Text handle;
    if (U_SUCCESS(error) != 0) {
      handle.reset(utext_openUTF8(nullptr, window.data(), static_cast<std::int64_t>(window.size()), &error));
      ubrk_setUText(iterator.get(), handle.get(), &error);
    }
    if (U_FAILURE(error) != 0) {
      visit(base, end, 0);
      base = end;
      continue;
    }
    std::int32_t from = ubrk_first(iterator.get());
    for (std::int32_t to = ubrk_next(iterator.get()); to != UBRK_DONE; to = ubrk_next(iterator.get())) {
      visit(base + static_cast<std::size_t>(from), base + static_cast<std::size_t>(to),
            ubrk_getRuleStatus(iterator.get()));
      from = to;
    }
    base = end;
  }
}

bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f' || byte == '\v';
}

/// `text` of the same length, with the line ends of wrapped lines as blanks: Unicode's rules end a sentence at each
/// one.
std::string unwrapped(std::string_view text) {
  std::string out(text);
  std::size_t line = 0;
  for (std::size_t end = out.find('\n'); end != std::string::npos; end = out.find('\n', line)) {
    std::size_t next = end + 1;
    while (next < out.size() && (out[next] == ' ' || out[next] == '\t')) ++next;
    const bool blank_follows = next >= out.size() || out[next] == '\n';
    if (!blank_follows && end - line >= kWrappedLineBytes) out[end] = ' ';
    line = end + 1;
  }
  return out;
}

}  // namespace

std::vector<ByteSpan> sentence_spans(std::string_view text) {
  std::vector<ByteSpan> spans;
  const std::string flowing = unwrapped(text);
  for_each_segment(flowing, UBRK_SENTENCE, [&](std::size_t begin, std::size_t end, std::int32_t) {
    // Segments of blanks alone (the second line end of a blank line) join the sentence before.
    if (!spans.empty() && trimmed(text, {begin, end}).empty()) {
      spans.back().end = end;
    } else {
      spans.push_back({begin, end});
    }
  });
  return spans;
}

std::vector<ByteSpan> word_spans(std::string_view text) {
  std::vector<ByteSpan> spans;
  for_each_segment(text, UBRK_WORD, [&](std::size_t begin, std::size_t end, std::int32_t status) {
    if (status >= UBRK_WORD_NONE_LIMIT) spans.push_back({begin, end});
  });
  return spans;
}

ByteSpan trimmed(std::string_view text, ByteSpan span) {
  while (span.begin < span.end && is_blank(text[span.begin])) ++span.begin;
  while (span.end > span.begin && is_blank(text[span.end - 1])) --span.end;
  return span;
}

}  // namespace casemate
