#include "casemate/text/bpe_tokenizer.h"

#include <unicode/uchar.h>

#include <array>
#include <queue>
#include <unordered_map>

#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"
#include "text/roberta_framing.h"

namespace casemate {
namespace {

/// GPT-2's alphabet: each byte is written as one letter, so that vocabulary files hold no blanks or controls.
std::unordered_map<char32_t, char> letter_to_byte() {
  std::unordered_map<char32_t, char> map;
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    map.emplace(shown ? static_cast<char32_t>(byte) : next++, static_cast<char>(static_cast<unsigned char>(byte)));
  }
  return map;
}

/// A piece in raw bytes; pieces with letters outside the alphabet (special tokens) stay as they are.
std::string to_bytes(const std::string& piece, const std::unordered_map<char32_t, char>& alphabet) {
  std::string out;
  for (std::size_t at = 0; at < piece.size();) {
    const CodePoint point = read_code_point(piece, at);
    const auto it = alphabet.find(point.value);
    if (it == alphabet.end()) return piece;
    out += it->second;
    at += point.length;
  }
  return out;
}

enum class Kind { kLetter, kNumber, kBlank, kOther };

Kind kind_of(char32_t c) {
  const auto mask = U_GET_GC_MASK(static_cast<UChar32>(c));
  if ((mask & U_GC_L_MASK) != 0) return Kind::kLetter;
  if ((mask & U_GC_N_MASK) != 0) return Kind::kNumber;
  return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0 ? Kind::kBlank : Kind::kOther;
}

/// The text's code points with their byte places, for the word rule below.
struct Characters {
  std::vector<char32_t> values;
  std::vector<std::size_t> starts;  // one more than values
};

Characters read_characters(std::string_view text) {
  Characters out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    out.values.push_back(point.value);
    out.starts.push_back(at);
    at += point.length;
  }
  out.starts.push_back(text.size());
  return out;
}

std::size_t contraction_length(const Characters& text, std::size_t i) {
  static constexpr std::u32string_view kEndings[] = {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"};
  for (const std::u32string_view ending : kEndings) {
    if (i + ending.size() > text.values.size()) continue;
    if (std::equal(ending.begin(), ending.end(), text.values.begin() + static_cast<std::ptrdiff_t>(i)))
      return ending.size();
  }
  return 0;
}

/// End of the word that starts at character `i`, by GPT-2's pattern:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t word_end(const Characters& text, std::size_t i) {
  const std::size_t size = text.values.size();
  if (const std::size_t length = contraction_length(text, i); length > 0) return i + length;
  const std::size_t first = text.values[i] == U' ' && i + 1 < size ? i + 1 : i;
  const Kind kind = kind_of(text.values[first]);
  if (kind != Kind::kBlank) {
    std::size_t end = first + 1;
    while (end < size && kind_of(text.values[end]) == kind) ++end;
    return end;
  }
  std::size_t end = i + 1;
  while (end < size && kind_of(text.values[end]) == Kind::kBlank) ++end;
  // The last blank before a word belongs to that word, unless it is the only one.
  return end == size || end == i + 1 ? end : end - 1;
}

class BpeTokenizer final : public RobertaTokenizer {
 public:
  struct Merge {
    std::uint32_t rank;
    TokenId result;
  };
  using Merges = std::unordered_map<std::uint64_t, Merge>;

  static std::uint64_t pair_key(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) | static_cast<std::uint32_t>(right);
  }

  BpeTokenizer(BpeDefinition definition, std::vector<std::string> bytes, std::array<TokenId, 256> byte_ids,
               Merges merges, RobertaFraming framing)
      : RobertaTokenizer(std::move(framing)),
        definition_(std::move(definition)),
        bytes_(std::move(bytes)),
        byte_ids_(byte_ids),
        merges_(std::move(merges)) {}

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (id >= 0 && static_cast<std::size_t>(id) < bytes_.size() && !is_special(id))
        text += bytes_[static_cast<std::size_t>(id)];
    }
    return text;
  }
  std::size_t vocabulary_size() const noexcept override { return definition_.pieces.size(); }
  std::string_view piece(TokenId id) const noexcept override {
    return id >= 0 && static_cast<std::size_t>(id) < definition_.pieces.size()
               ? std::string_view(definition_.pieces[static_cast<std::size_t>(id)])
               : "";
  }

 private:
  struct Symbol {
    TokenId id;
    TokenSpan span;
    std::ptrdiff_t previous, next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::ptrdiff_t left;
    TokenId left_id, right_id;
    bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
  };

  void tokenize_ordinary(std::string_view raw, std::size_t offset, Tokens& tokens) const override {
    // A blank put before the text has no bytes of its own: its span is empty at the start.
    const bool added_blank = definition_.add_prefix_space && !raw.starts_with(' ');
    const std::string with_blank = added_blank ? " " + std::string(raw) : std::string();
    const std::string_view text = added_blank ? std::string_view(with_blank) : raw;
    const std::size_t shift = added_blank ? 1 : 0;
    const Characters characters = read_characters(text);
    for (std::size_t i = 0; i < characters.values.size();) {
      const std::size_t end = word_end(characters, i);
      std::vector<Symbol> symbols;
      for (std::size_t c = i; c < end; ++c) add_character(text, characters, c, offset, shift, symbols);
      merge_word(symbols, tokens);
      i = end;
    }
  }

  void add_character(std::string_view text, const Characters& characters, std::size_t c, std::size_t offset,
                     std::size_t shift, std::vector<Symbol>& symbols) const {
    const std::size_t begin = characters.starts[c];
    const std::size_t end = characters.starts[c + 1];
    const TokenSpan span{offset + (begin >= shift ? begin - shift : 0), offset + (end >= shift ? end - shift : 0)};
    const bool broken = characters.values[c] == kInvalidCodePoint;
    const std::string_view bytes = broken ? std::string_view("\xEF\xBF\xBD") : text.substr(begin, end - begin);
    for (const char byte : bytes) {
      const TokenId id = byte_ids_[static_cast<unsigned char>(byte)];
      symbols.push_back(
          {id, span, static_cast<std::ptrdiff_t>(symbols.size()) - 1, static_cast<std::ptrdiff_t>(symbols.size()) + 1});
    }
  }

  /// Applies merges, most important first, leftmost first among equals. O(n log n), so that a long word is no attack.
  void merge_word(std::vector<Symbol>& symbols, Tokens& tokens) const {
    if (symbols.empty()) return;
    symbols.back().next = -1;
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto propose = [&](std::ptrdiff_t left) {
      if (left < 0) return;
      const Symbol& a = symbols[static_cast<std::size_t>(left)];
      if (a.next < 0) return;
      const Symbol& b = symbols[static_cast<std::size_t>(a.next)];
      const auto it = merges_.find(pair_key(a.id, b.id));
      if (it != merges_.end()) queue.push({it->second.rank, left, a.id, b.id});
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) propose(static_cast<std::ptrdiff_t>(i));
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& a = symbols[static_cast<std::size_t>(best.left)];
      if (a.id != best.left_id || a.next < 0) continue;  // merged away meanwhile
      Symbol& b = symbols[static_cast<std::size_t>(a.next)];
      if (b.id != best.right_id) continue;
      a.id = merges_.find(pair_key(a.id, b.id))->second.result;
      a.span.end = b.span.end;
      b.id = -2;
      a.next = b.next;
      if (a.next >= 0) symbols[static_cast<std::size_t>(a.next)].previous = best.left;
      propose(best.left);
      propose(a.previous);
    }
    for (std::ptrdiff_t i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next) {
      const Symbol& symbol = symbols[static_cast<std::size_t>(i)];
      if (symbol.id < 0) continue;  // a byte that the vocabulary lacks, as Hugging Face drops it
      tokens.ids.push_back(symbol.id);
      tokens.spans.push_back(symbol.span);
    }
  }

  BpeDefinition definition_;
  std::vector<std::string> bytes_;  ///< pieces in raw bytes
  std::array<TokenId, 256> byte_ids_;
  Merges merges_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_bpe_tokenizer(BpeDefinition definition) {
  auto framing = RobertaFraming::create(definition.special_tokens);
  if (!framing) return framing.error();
  const auto alphabet = letter_to_byte();
  std::unordered_map<std::string, TokenId> ids;
  std::vector<std::string> bytes;
  for (std::size_t i = 0; i < definition.pieces.size(); ++i) {
    ids.insert_or_assign(definition.pieces[i], static_cast<TokenId>(i));
    bytes.push_back(to_bytes(definition.pieces[i], alphabet));
  }
  std::array<TokenId, 256> byte_ids{};
  byte_ids.fill(framing->unknown());
  for (const auto& [letter, byte] : alphabet) {
    std::string piece;
    append_code_point(piece, letter);
    const auto it = ids.find(piece);
    if (it != ids.end()) byte_ids[static_cast<unsigned char>(byte)] = it->second;
  }
  BpeTokenizer::Merges merges;
  for (std::size_t rank = 0; rank < definition.merges.size(); ++rank) {
    const auto& [left, right] = definition.merges[rank];
    const auto a = ids.find(left);
    const auto b = ids.find(right);
    const auto joined = ids.find(left + right);
    if (a == ids.end() || b == ids.end() || joined == ids.end()) {
      return Error{ErrorCode::kInvalidInput, "merge " + std::to_string(rank) + " (\"" + UntrustedText(left).for_log() +
                                                 "\", \"" + UntrustedText(right).for_log() +
                                                 "\") uses pieces that the vocabulary lacks"};
    }
    merges.insert_or_assign(BpeTokenizer::pair_key(a->second, b->second),
                            BpeTokenizer::Merge{static_cast<std::uint32_t>(rank), joined->second});
  }
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(std::move(definition), std::move(bytes), byte_ids,
                                                                   std::move(merges), *std::move(framing)));
}

}  // namespace casemate
