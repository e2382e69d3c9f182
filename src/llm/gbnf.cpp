#include "llm/gbnf.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"

namespace casemate::llm {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr int kMaxNesting = 100;
constexpr std::uint64_t kMaxSymbols = 10'000;      ///< rules, written and made: llama.cpp recurses through them
constexpr std::uint64_t kMaxElements = 1'000'000;  ///< characters and references, after repetitions are written out
// llama.cpp's own limits.
constexpr std::uint64_t kMaxRepetitions = 2000;
constexpr std::uint64_t kNoMaximum = std::numeric_limits<std::uint64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'; }

/// The part of a rule that is read, as numbers of elements.
struct Sequence {
  std::uint64_t size = 0;
  std::uint64_t last = 0;    ///< where its last item begins
  std::uint64_t weight = 1;  ///< rules that repeating that item multiplies
};

/// Follows llama.cpp's parser step by step, counting what that one would build.
class Checker {
 public:
  Checker(std::string_view text, const IsToken& is_token) : text_(text), is_token_(is_token) {}

  Status run() {
    skip_space(true);
    while (at_ < text_.size()) {
      if (Status read = rule(); !read) return read;
    }
    for (const auto& [name, seen] : names_) {
      if (seen.is_defined) continue;
      at_ = seen.first;
      return wrong("undefined rule \"" + name + "\"");
    }
    if (!names_.contains("root")) return Error{ErrorCode::kInvalidOption, "there is no rule named root"};
    return {};
  }

 private:
  struct Name {
    std::size_t first = 0;  ///< where it stands first
    bool is_defined = false;
  };

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  [[nodiscard]] Error fault(ErrorCode code, const std::string& why) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_end = before.rfind('\n');
    const std::size_t column = at_ - (line_end == std::string_view::npos ? 0 : line_end + 1) + 1;
    return {code, "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + why};
  }
  [[nodiscard]] Error wrong(const std::string& why) const { return fault(ErrorCode::kInvalidOption, why); }
  [[nodiscard]] Error expecting(const std::string& what) const {
    return wrong("expecting " + what + (at_ >= text_.size() ? ", found the end" : ""));
  }

  void skip_space(bool newline_ok) {
    while (true) {
      const char c = peek();
      if (c == '#') {
        while (at_ < text_.size() && peek() != '\r' && peek() != '\n') ++at_;
      } else if (c == ' ' || c == '\t' || (newline_ok && (c == '\r' || c == '\n'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  /// Characters of `kind` from here on.
  template <typename Kind>
  std::string_view take_while(const Kind& kind) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && kind(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Status rule() {
    const std::size_t place = at_;
    const std::string name(take_while(is_word));
    if (name.empty()) return expecting("the name of a rule");
    skip_space(false);
    if (!text_.substr(at_).starts_with("::=")) return expecting("::=");
    at_ += 3;
    skip_space(true);
    names_.try_emplace(name, Name{place, true}).first->second.is_defined = true;
    if (Status read = alternates(false, 0); !read) return read;
    if (peek() == '\r') {
      at_ += peek(1) == '\n' ? 2 : 1;
    } else if (peek() == '\n') {
      ++at_;
    } else if (at_ < text_.size()) {
      return expecting("the end of the line");
    }
    skip_space(true);
    return {};
  }

  Status alternates(bool nested, int depth) {
    if (depth > kMaxNesting) return fault(ErrorCode::kLimit, "groups nest deeper than " + std::to_string(kMaxNesting));
    // The sequences of a rule lie in one list, so what a repetition repeats can only be of its own sequence.
    Sequence sequence;
    while (true) {
      sequence.last = sequence.size;
      sequence.weight = 1;
      if (Status read = items(sequence, nested, depth); !read) return read;
      if (peek() != '|') return count(1);
      ++sequence.size;
      ++at_;
      skip_space(true);
    }
  }

  Status items(Sequence& sequence, bool nested, int depth) {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (Status read = repetition(sequence, nested); !read) return read;
        continue;
      }
      const bool begins_item = c == '"' || c == '[' || c == '<' || c == '!' || c == '(' || c == '.' || is_word(c);
      if (!begins_item) return {};
      sequence.last = sequence.size;
      sequence.weight = 1;
      if (Status read = item(c, sequence, depth); !read) return read;
      if (Status counted = count(sequence.size - sequence.last); !counted) return counted;
      skip_space(nested);
    }
    return {};
  }

  Status item(char c, Sequence& sequence, int depth) {
    if (c == '"') return literal(sequence);
    if (c == '[') return characters(sequence);
    ++sequence.size;
    if (c == '<' || c == '!') return token();
    if (c == '(') return group(sequence, depth);
    if (c == '.') return ++at_, Status();
    const std::size_t place = at_;
    names_.try_emplace(std::string(take_while(is_word)), Name{place, false});
    return {};
  }

  Status literal(Sequence& sequence) {
    for (++at_; peek() != '"'; ++sequence.size) {
      if (Status read = character(); !read) return read;
    }
    ++at_;
    return {};
  }

  Status characters(Sequence& sequence) {
    ++at_;
    if (peek() == '^') ++at_;
    for (; peek() != ']'; ++sequence.size) {
      if (Status read = character(); !read) return read;
      if (peek() != '-' || peek(1) == ']') continue;
      ++at_;
      ++sequence.size;
      if (Status read = character(); !read) return read;
    }
    ++at_;
    return {};
  }

  Status character() {
    if (at_ >= text_.size()) return wrong("unexpected end of input");
    if (peek() != '\\') {
      // The text is valid UTF-8: on to the next first byte.
      for (++at_; (static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U;) ++at_;
      return {};
    }
    const char kind = peek(1);
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    if (digits == 0) {
      if (kind == '\0' || std::string_view("trn\\\"[]-").find(kind) == std::string_view::npos)
        return wrong("unknown escape");
      at_ += 2;
      return {};
    }
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_hex(peek(2 + i))) return expecting(std::to_string(digits) + " hexadecimal digits");
    }
    at_ += 2 + digits;
    return {};
  }

  Status token() {
    if (peek() == '!') ++at_;
    if (peek() != '<') return expecting("<");
    if (peek(1) == '[') {
      at_ += 2;
      const auto id = number();
      if (!id || *id > std::numeric_limits<std::uint32_t>::max()) return expecting("the number of a token");
      if (!text_.substr(at_).starts_with("]>")) return expecting("]>");
      at_ += 2;
      return {};
    }
    const std::size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) return wrong("expecting > behind the name of a token");
    const std::string_view name = text_.substr(at_, end + 1 - at_);
    if (!is_token_(name)) return wrong("invalid token \"" + UntrustedText(std::string(name)).for_log(80) + "\"");
    at_ = end + 1;
    return {};
  }

  Status group(Sequence& sequence, int depth) {
    ++at_;
    skip_space(true);
    const std::uint64_t before = symbols();
    ++made_;
    if (Status read = alternates(true, depth + 1); !read) return read;
    sequence.weight = std::max<std::uint64_t>(1, symbols() - before);
    if (peek() != ')') return expecting(")");
    ++at_;
    return {};
  }

  /// Nothing where there is no digit; the largest number where it is larger still.
  std::optional<std::uint64_t> number() {
    const std::string_view digits = take_while(is_digit);
    if (digits.empty()) return std::nullopt;
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return code == std::errc() ? value : kNoMaximum;
  }

  Status repetition(Sequence& sequence, bool nested) {
    const std::size_t place = at_;
    std::uint64_t least = peek() == '+' ? 1 : 0;
    std::uint64_t most = peek() == '?' ? 1 : kNoMaximum;
    if (peek() == '{') {
      if (Status read = bounds(least, most, nested); !read) return read;
    } else {
      ++at_;
      skip_space(nested);
    }
    const std::size_t end = std::exchange(at_, place);
    if (sequence.last == sequence.size) return expecting("an item before */+/?/{");
    const bool no_maximum = most == kNoMaximum;
    const std::uint64_t times = !no_maximum && most > 0 ? most : std::max<std::uint64_t>(least, 1);
    if (sequence.weight * times > kMaxRepetitions) return wrong("the repetitions multiply to more than 2000 rules");
    // As it rewrites them: the item `least` times, then a rule for each that may follow.
    const std::uint64_t item = sequence.size - sequence.last;
    const std::uint64_t further = no_maximum ? 1 : most - least;
    sequence.size = least == 0 ? sequence.last : sequence.size + (least - 1) * item;
    if (further > 0) ++sequence.size;
    sequence.weight *= times;
    made_ += further;
    if (Status counted = count(least * item + further * (item + 3)); !counted) return counted;
    at_ = end;
    return {};
  }

  Status bounds(std::uint64_t& least, std::uint64_t& most, bool nested) {
    ++at_;
    skip_space(nested);
    const auto first = number();
    if (!first) return expecting("a number");
    least = *first;
    most = *first;
    skip_space(nested);
    if (peek() == ',') {
      ++at_;
      skip_space(nested);
      most = number().value_or(kNoMaximum);
      skip_space(nested);
      if (peek() != '}') return expecting("}");
    } else if (peek() != '}') {
      return expecting(",");
    }
    if (least > kMaxRepetitions) return wrong("more than 2000 repetitions");
    if (most > kMaxRepetitions) most = kNoMaximum;
    if (most < least) return fault(ErrorCode::kLimit, "the most repetitions are fewer than the least");
    ++at_;
    skip_space(nested);
    return {};
  }

  [[nodiscard]] std::uint64_t symbols() const { return names_.size() + made_; }

  Status count(std::uint64_t elements) {
    elements_ += elements;
    if (elements_ > kMaxElements || symbols() > kMaxSymbols)
      return fault(ErrorCode::kLimit, "the grammar is too large once its repetitions are written out");
    return {};
  }

  std::string_view text_;
  const IsToken& is_token_;
  std::size_t at_ = 0;
  std::map<std::string, Name, std::less<>> names_;
  std::uint64_t made_ = 0;  ///< rules that groups and repetitions become
  std::uint64_t elements_ = 0;
};

}  // namespace

Status check_gbnf(std::string_view text, const IsToken& is_token) {
  if (text.size() > kMaxBytes)
    return Error{ErrorCode::kLimit, "the grammar is larger than " + std::to_string(kMaxBytes) + " bytes"};
  if (!is_valid_utf8(text) || text.find('\0') != std::string_view::npos)
    return Error{ErrorCode::kInvalidOption, "the grammar is no UTF-8 text, or holds a null byte"};
  return Checker(text, is_token).run();
}

}  // namespace casemate::llm
