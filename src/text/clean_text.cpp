#include "casemate/text/clean_text.h"

#include <utility>

#include "casemate/core/utf8.h"
#include "text/joiner_rules.h"

namespace casemate {
namespace {

/// Removed characters nearer than this to the one before are told of together.
constexpr std::size_t kClusterBytes = 16;

UntrustedText excerpt_of(std::string_view bytes, ByteSpan span) {
  return UntrustedText(std::string(utf8_prefix(bytes.substr(span.begin, span.size()), kMaxExcerptBytes)));
}

FindingKind kind_of(char32_t value) {
  if (is_control(value)) return FindingKind::kControlCharacters;
  if (is_bidi_control(value)) return FindingKind::kBidiControls;
  if (value == 0x00AD) return FindingKind::kSoftHyphens;
  if (value >= 0xE0000 && value <= 0xE007F) return FindingKind::kTagCharacters;
  return FindingKind::kInvisibleCharacters;
}

/// Builds the findings of one text: clusters by kind.
class RemovalLog {
 public:
  explicit RemovalLog(std::string_view bytes) : bytes_(bytes) {}

  void removed(char32_t value, ByteSpan span) {
    const FindingKind kind = kind_of(value);
    if (open_ && (current_.kind != kind || span.begin > current_.source.end + kClusterBytes)) flush();
    if (!open_) {
      current_ = Finding{kind, span, 0, {}, {}};
      hidden_.clear();
      open_ = true;
    }
    current_.source.end = span.end;
    ++current_.count;
    if (kind == FindingKind::kTagCharacters && value >= 0xE0020 && value <= 0xE007E &&
        hidden_.size() < kMaxExcerptBytes) {
      hidden_ += static_cast<char>(value - 0xE0000);
    }
  }
  void broken(ByteSpan span) {
    if (broken_ == 0) broken_span_ = span;
    broken_span_.end = span.end;
    ++broken_;
  }
  std::vector<Finding> finish() {
    flush();
    if (broken_ > 0) {
      collector_.add({FindingKind::kInvalidUtf8, broken_span_, broken_, excerpt_of(bytes_, broken_span_),
                      std::to_string(broken_) + " broken sequences became U+FFFD; the first is at byte " +
                          std::to_string(broken_span_.begin)});
    }
    return std::move(collector_).take();
  }

 private:
  void flush() {
    if (!open_) return;
    open_ = false;
    current_.excerpt = excerpt_of(bytes_, current_.source);
    if (!hidden_.empty()) current_.note = "hidden ASCII: " + UntrustedText(hidden_).for_log(kMaxExcerptBytes);
    collector_.add(std::move(current_));
  }

  std::string_view bytes_;
  FindingCollector collector_;
  Finding current_;
  std::string hidden_;
  bool open_ = false;
  std::size_t broken_ = 0;
  ByteSpan broken_span_;
};

bool is_plain(char byte) { return (byte >= 0x20 && byte < 0x7F) || byte == '\n' || byte == '\t'; }

bool is_line_end(char32_t value) {
  return value == '\r' || value == '\f' || value == '\v' || value == 0x85 || value == 0x2028 || value == 0x2029;
}

}  // namespace

CleanText clean_text(std::string_view bytes) {
  CleanText out;
  out.text.reserve(bytes.size());
  RemovalLog log(bytes);
  JoinerRules rules(bytes);
  const auto keep = [&](std::string_view text, ByteSpan source) {
    out.text.append(text);
    out.offsets.append(text.size(), source);
  };

  std::size_t at = bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (at < bytes.size()) {
    std::size_t plain = at;
    while (plain < bytes.size() && is_plain(bytes[plain])) ++plain;
    if (plain > at) {
      keep(bytes.substr(at, plain - at), {at, plain});
      rules.kept(static_cast<char32_t>(bytes[plain - 1]));
      at = plain;
      continue;
    }
    const CodePoint point = read_code_point(bytes, at);
    const ByteSpan span{at, at + point.length};
    if (point.value == kInvalidCodePoint) {
      keep("\xEF\xBF\xBD", span);
      rules.kept(0xFFFD);
      log.broken(span);
    } else if (is_line_end(point.value)) {
      const bool pair = point.value == '\r' && span.end < bytes.size() && bytes[span.end] == '\n';
      keep("\n", {at, span.end + (pair ? 1 : 0)});
      rules.kept('\n');
      at = span.end + (pair ? 1 : 0);
      continue;
    } else if (const std::size_t length = rules.keeps(point, at); length > 0) {
      keep(bytes.substr(at, length), {at, at + length});
      rules.kept(point.value);
      at += length;
      continue;
    } else {
      log.removed(point.value, span);
    }
    at = span.end;
  }
  out.findings = log.finish();
  return out;
}

CleanText repair_utf8(std::string_view bytes) {
  CleanText out;
  out.text.reserve(bytes.size());
  RemovalLog log(bytes);
  std::size_t begin = 0;
  const auto copy_until = [&](std::size_t end) {
    out.text.append(bytes.substr(begin, end - begin));
    out.offsets.append(end - begin, {begin, end});
  };
  for (std::size_t at = 0; at < bytes.size();) {
    const CodePoint point = read_code_point(bytes, at);
    if (point.value == kInvalidCodePoint) {
      copy_until(at);
      out.text.append("\xEF\xBF\xBD");
      out.offsets.append(3, {at, at + point.length});
      log.broken({at, at + point.length});
      begin = at + point.length;
    }
    at += point.length;
  }
  copy_until(bytes.size());
  out.findings = log.finish();
  return out;
}

}  // namespace casemate
