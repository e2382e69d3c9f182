#include "casemate/text/unigram_tokenizer.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "casemate/core/utf8.h"
#include "text/character_map.h"
#include "text/roberta_framing.h"

namespace casemate {
namespace {

constexpr std::string_view kMetaspace = "\xE2\x96\x81";  // U+2581, which sentencepiece writes for a blank

/// Normalised text with the source bytes of each of its bytes.
struct Normalized {
  std::string text;
  std::vector<TokenSpan> spans;

  void add(std::string_view bytes, TokenSpan span) {
    text += bytes;
    spans.insert(spans.end(), bytes.size(), span);
  }
};

/// Ends of the grapheme clusters of valid UTF-8.
std::vector<std::size_t> grapheme_ends(std::string_view text) {
  std::vector<std::size_t> ends;
  UErrorCode error = U_ZERO_ERROR;
  UText* source = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error);
  UBreakIterator* iterator = ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &error);
  if (U_SUCCESS(error)) ubrk_setUText(iterator, source, &error);
  if (U_SUCCESS(error)) {
    for (int32_t at = ubrk_next(iterator); at != UBRK_DONE; at = ubrk_next(iterator))
      ends.push_back(static_cast<std::size_t>(at));
  }
  ubrk_close(iterator);
  utext_close(source);
  if (ends.empty() && !text.empty()) ends.push_back(text.size());
  return ends;
}

bool is_white_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; }

class UnigramTokenizer final : public RobertaTokenizer {
 public:
  UnigramTokenizer(UnigramDefinition definition, CharacterMap map, RobertaFraming framing)
      : RobertaTokenizer(std::move(framing)), definition_(std::move(definition)), map_(std::move(map)) {
    // Special pieces are left out: written in a text they must stay text.
    for (std::size_t id = 0; id < definition_.pieces.size(); ++id) {
      if (!text_of(id).empty() && !is_special(static_cast<TokenId>(id))) sorted_.push_back(id);
    }
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [&](std::size_t a, std::size_t b) { return text_of(a) < text_of(b); });
    double lowest = std::numeric_limits<double>::infinity();
    for (const auto& piece : definition_.pieces)
      lowest = std::min(lowest, std::isfinite(piece.second) ? piece.second : lowest);
    unknown_score_ = lowest - 10.0;  // the penalty of Hugging Face and sentencepiece
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (is_special(id)) continue;
      std::string_view rest = piece(id);
      for (std::size_t at = rest.find(kMetaspace); at != std::string_view::npos; at = rest.find(kMetaspace)) {
        text += rest.substr(0, at);
        text += ' ';
        rest.remove_prefix(at + kMetaspace.size());
      }
      text += rest;
    }
    if (text.starts_with(' ')) text.erase(0, 1);
    return text;
  }
  std::size_t vocabulary_size() const noexcept override { return definition_.pieces.size(); }
  std::string_view piece(TokenId id) const noexcept override {
    return id >= 0 && static_cast<std::size_t>(id) < definition_.pieces.size() ? text_of(static_cast<std::size_t>(id))
                                                                               : "";
  }
  TokenId unknown_id() const noexcept override { return definition_.unknown; }

 private:
  [[nodiscard]] std::string_view text_of(std::size_t id) const noexcept { return definition_.pieces[id].first; }

  /// Applies the character map: to a whole grapheme cluster of fewer than 6 bytes where the map knows it, else to each
  /// of its characters (Hugging Face's rule).
  [[nodiscard]] Normalized normalize(std::string_view raw, std::size_t offset) const {
    Normalized valid;
    for (std::size_t at = 0; at < raw.size();) {
      const CodePoint point = read_code_point(raw, at);
      const bool broken = point.value == kInvalidCodePoint;
      valid.add(broken ? std::string_view("\xEF\xBF\xBD") : raw.substr(at, point.length),
                {offset + at, offset + at + point.length});
      at += point.length;
    }
    if (map_.empty()) return valid;
    Normalized out;
    const std::string_view text = valid.text;
    std::size_t begin = 0;
    for (const std::size_t end : grapheme_ends(text)) {
      const std::string_view cluster = text.substr(begin, end - begin);
      const char* whole = cluster.size() < 6 ? map_.find(cluster) : nullptr;
      if (whole != nullptr) {
        out.add(whole, {valid.spans[begin].begin, valid.spans[end - 1].end});
      } else {
        for (std::size_t at = begin; at < end;) {
          const std::size_t length = read_code_point(text, at).length;
          const char* mapped = map_.find(text.substr(at, length));
          out.add(mapped != nullptr ? std::string_view(mapped) : text.substr(at, length), valid.spans[at]);
          at += length;
        }
      }
      begin = end;
    }
    return out;
  }

  /// Words in sentencepiece's form: U+2581 before each, blanks inside written as U+2581.
  [[nodiscard]] std::vector<Normalized> words(const Normalized& text) const {
    std::vector<Normalized> out;
    const auto start_word = [&](TokenSpan span) {
      out.emplace_back();
      out.back().add(kMetaspace, span);
    };
    bool open = false;
    bool after_blank = false;
    for (std::size_t at = 0; at < text.text.size();) {
      const CodePoint point = read_code_point(text.text, at);
      const TokenSpan span = text.spans[at];
      const std::string_view bytes = std::string_view(text.text).substr(at, point.length);
      at += point.length;
      if (definition_.split_on_white_space && is_white_space(point.value)) {
        open = false;
        continue;
      }
      const bool blank = point.value == U' ' || bytes == kMetaspace;
      if (blank) {
        if (!(definition_.collapse_blanks && after_blank)) start_word(span);
        open = true;
        after_blank = point.value == U' ';
        continue;
      }
      after_blank = false;
      if (!open) start_word({span.begin, span.begin});
      open = true;
      out.back().add(bytes, span);
    }
    return out;
  }

  void tokenize_ordinary(std::string_view raw, std::size_t offset, Tokens& tokens) const override {
    for (const Normalized& word : words(normalize(raw, offset))) segment(word, tokens);
  }

  /// Calls visit(length, id) for each piece that `text` starts with, shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    auto low = sorted_.begin();
    auto high = sorted_.end();
    for (std::size_t depth = 0; depth < text.size(); ++depth) {
      const auto byte_at = [&](std::size_t id) {
        const std::string_view piece = text_of(id);
        return depth < piece.size() ? static_cast<int>(static_cast<unsigned char>(piece[depth])) : -1;
      };
      const int wanted = static_cast<unsigned char>(text[depth]);
      low = std::lower_bound(low, high, wanted, [&](std::size_t id, int value) { return byte_at(id) < value; });
      high = std::upper_bound(low, high, wanted, [&](int value, std::size_t id) { return value < byte_at(id); });
      if (low == high) return;
      if (text_of(*low).size() == depth + 1) visit(depth + 1, *low);
    }
  }

  /// The most likely segmentation (Viterbi); neighbouring unknown characters are one unknown token.
  void segment(const Normalized& word, Tokens& tokens) const {
    struct Node {
      double score = 0;
      std::ptrdiff_t start = -1;
      TokenId id = 0;
    };
    std::vector<Node> best(word.text.size() + 1);
    const auto improve = [&](std::size_t from, std::size_t to, TokenId id, double score) {
      Node& node = best[to];
      if (node.start < 0 || score > node.score) node = {score, static_cast<std::ptrdiff_t>(from), id};
    };
    for (std::size_t at = 0; at < word.text.size();) {
      const std::size_t length = read_code_point(word.text, at).length;
      bool has_character = false;
      for_each_prefix(std::string_view(word.text).substr(at), [&](std::size_t bytes, std::size_t id) {
        improve(at, at + bytes, static_cast<TokenId>(id), definition_.pieces[id].second + best[at].score);
        has_character = has_character || bytes == length;
      });
      if (!has_character) improve(at, at + length, definition_.unknown, unknown_score_ + best[at].score);
      at += length;
    }
    const std::size_t before = tokens.ids.size();
    for (std::size_t end = word.text.size(); end > 0;) {
      const Node& node = best[end];
      const auto start = static_cast<std::size_t>(node.start);
      const TokenSpan span{word.spans[start].begin, word.spans[end - 1].end};
      const bool fuse =
          node.id == definition_.unknown && tokens.ids.size() > before && tokens.ids.back() == definition_.unknown;
      if (fuse) {
        tokens.spans.back().begin = span.begin;
      } else {
        tokens.ids.push_back(node.id);
        tokens.spans.push_back(span);
      }
      end = start;
    }
    std::reverse(tokens.ids.begin() + static_cast<std::ptrdiff_t>(before), tokens.ids.end());
    std::reverse(tokens.spans.begin() + static_cast<std::ptrdiff_t>(before), tokens.spans.end());
  }

  UnigramDefinition definition_;
  CharacterMap map_;
  std::vector<std::size_t> sorted_;  ///< ids by piece bytes
  double unknown_score_ = 0;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_unigram_tokenizer(UnigramDefinition definition) {
  auto framing = RobertaFraming::create(definition.special_tokens);
  if (!framing) return framing.error();
  auto map = CharacterMap::parse(definition.character_map);
  if (!map) return map.error();
  // The mask token is usually beyond the trained pieces; ids must stay in one table.
  for (const AddedToken& token : definition.special_tokens) {
    if (token.id < 0 || token.id > static_cast<TokenId>(definition.pieces.size()) + 1000) {
      return Error{ErrorCode::kInvalidInput, "an added token's id is out of range"};
    }
    while (static_cast<std::size_t>(token.id) >= definition.pieces.size()) {
      definition.pieces.emplace_back("", -std::numeric_limits<double>::infinity());
    }
  }
  return std::unique_ptr<Tokenizer>(
      std::make_unique<UnigramTokenizer>(std::move(definition), *std::move(map), *std::move(framing)));
}

}  // namespace casemate
