#include "casemate/text/wordpiece_tokenizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "casemate/core/utf8.h"
#include "text/bert_normalizer.h"
#include "text/special_token_matcher.h"

namespace casemate {
namespace {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
using Vocabulary = std::unordered_map<std::string, TokenId, StringHash, std::equal_to<>>;

/// A word in UTF-8, with where each of its characters starts in it and which bytes of the text it came from.
struct Word {
  std::string utf8;
  std::vector<std::size_t> starts;
  std::vector<TokenSpan> spans;

  void clear() {
    utf8.clear();
    starts.clear();
    spans.clear();
  }
  void add(const NormalizedCharacter& character) {
    starts.push_back(utf8.size());
    append_code_point(utf8, character.value);
    spans.push_back(character.span);
  }
};

class WordPieceTokenizer final : public Tokenizer {
 public:
  struct Special {
    TokenId unknown, cls, sep, mask, padding;
  };

  WordPieceTokenizer(std::vector<std::string> pieces, Vocabulary ids, const WordPieceOptions& options,
                     const Special& special)
      : pieces_(std::move(pieces)),
        ids_(std::move(ids)),
        options_(options),
        special_(special),
        prefix_{special.cls},
        suffix_{special.sep} {
    for (const TokenId id : {special.unknown, special.cls, special.sep, special.mask, special.padding}) {
      if (id >= 0) matcher_.add(pieces_[static_cast<std::size_t>(id)], id);
    }
    for (const std::string& piece : pieces_) longest_piece_ = std::max(longest_piece_, piece.size());
  }

  Tokens tokenize(std::string_view text, SpecialTokens mode) const override {
    Tokens tokens;
    for (const SpecialTokenMatcher::Piece& piece : matcher_.split(text, mode)) {
      if (piece.special >= 0) {
        tokens.ids.push_back(piece.special);
        tokens.spans.push_back(piece.span);
        continue;
      }
      tokenize_ordinary(text.substr(piece.span.begin, piece.span.end - piece.span.begin), piece.span.begin, tokens);
    }
    return tokens;
  }

  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    for (const TokenId id : ids) {
      if (is_special(id)) continue;
      std::string_view text_piece = piece(id);
      if (text_piece.starts_with("##") && !text.empty()) {
        text_piece.remove_prefix(2);
      } else if (!text.empty()) {
        text += ' ';
      }
      text += text_piece;
    }
    return text;
  }

  std::size_t vocabulary_size() const noexcept override { return pieces_.size(); }
  std::string_view piece(TokenId id) const noexcept override {
    return id >= 0 && static_cast<std::size_t>(id) < pieces_.size()
               ? std::string_view(pieces_[static_cast<std::size_t>(id)])
               : "";
  }
  bool is_special(TokenId id) const noexcept override {
    return id >= 0 && (id == special_.unknown || id == special_.cls || id == special_.sep || id == special_.mask ||
                       id == special_.padding);
  }
  std::span<const TokenId> prefix() const noexcept override { return prefix_; }
  std::span<const TokenId> suffix() const noexcept override { return suffix_; }
  std::span<const TokenId> pair_separator() const noexcept override { return suffix_; }
  TokenId mask_id() const noexcept override { return special_.mask; }
  TokenId unknown_id() const noexcept override { return special_.unknown; }
  TokenId padding_id() const noexcept override { return special_.padding; }

 private:
  void tokenize_ordinary(std::string_view text, std::size_t offset, Tokens& tokens) const {
    Word word;
    for (const NormalizedCharacter& character : bert_normalize(text, offset, options_)) {
      if (is_bert_space(character.value)) {
        add_word(word, tokens);
      } else if (is_bert_punctuation(character.value)) {
        add_word(word, tokens);
        word.add(character);
        add_word(word, tokens);
      } else {
        word.add(character);
      }
    }
    add_word(word, tokens);
  }

  /// Greedy longest match; a word with any part outside the vocabulary is one [UNK]. Clears `word`.
  void add_word(Word& word, Tokens& tokens) const {
    if (word.starts.empty()) return;
    const std::size_t characters = word.starts.size();
    const std::size_t before = tokens.ids.size();
    bool known = characters <= static_cast<std::size_t>(options_.max_characters_per_word);
    std::string candidate;
    for (std::size_t begin = 0; known && begin < characters;) {
      std::size_t end = characters;
      TokenId found = -1;
      for (; end > begin; --end) {
        const std::size_t from = word.starts[begin];
        const std::size_t to = end == characters ? word.utf8.size() : word.starts[end];
        if (to - from > longest_piece_) continue;
        candidate.assign(begin > 0 ? "##" : "").append(word.utf8, from, to - from);
        const auto it = ids_.find(candidate);
        if (it != ids_.end()) {
          found = it->second;
          break;
        }
      }
      if (found < 0) {
        known = false;
        break;
      }
      tokens.ids.push_back(found);
      tokens.spans.push_back({word.spans[begin].begin, word.spans[end - 1].end});
      begin = end;
    }
    if (!known) {
      tokens.ids.resize(before);
      tokens.spans.resize(before);
      tokens.ids.push_back(special_.unknown);
      tokens.spans.push_back({word.spans.front().begin, word.spans.back().end});
    }
    word.clear();
  }

  std::vector<std::string> pieces_;
  Vocabulary ids_;
  WordPieceOptions options_;
  Special special_;
  std::array<TokenId, 1> prefix_;
  std::array<TokenId, 1> suffix_;
  SpecialTokenMatcher matcher_;
  std::size_t longest_piece_ = 0;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_wordpiece_tokenizer(std::vector<std::string> vocabulary,
                                                              const WordPieceOptions& options) {
  if (options.max_characters_per_word < 1) {
    return Error{ErrorCode::kInvalidOption, "max_characters_per_word must be at least 1"};
  }
  Vocabulary ids;
  ids.reserve(vocabulary.size());
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    // A repeated piece keeps its last id, as a Python dictionary filled line by line does.
    ids.insert_or_assign(vocabulary[i], static_cast<TokenId>(i));
  }
  const auto id_of = [&](const char* piece) {
    const auto it = ids.find(std::string_view(piece));
    return it == ids.end() ? TokenId{-1} : it->second;
  };
  const WordPieceTokenizer::Special special{id_of("[UNK]"), id_of("[CLS]"), id_of("[SEP]"), id_of("[MASK]"),
                                            id_of("[PAD]")};
  if (special.unknown < 0 || special.cls < 0 || special.sep < 0 || special.padding < 0) {
    return Error{ErrorCode::kInvalidInput, "the vocabulary lacks one of [UNK], [CLS], [SEP], [PAD]"};
  }
  return std::unique_ptr<Tokenizer>(
      std::make_unique<WordPieceTokenizer>(std::move(vocabulary), std::move(ids), options, special));
}

}  // namespace casemate
