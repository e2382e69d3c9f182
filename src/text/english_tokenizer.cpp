#include "text/english_tokenizer.h"

#include <algorithm>
#include <charconv>

#include "casemate/core/utf8.h"
#include "text/character_kinds.h"

namespace casemate {

/// A text without white space: its code points and where each begins in the whole text (one place more for the end).
struct EnglishTokenizer::Chunk {
  std::string_view text;
  std::vector<char32_t> characters;
  std::vector<std::size_t> places;

  [[nodiscard]] std::span<const char32_t> view(CharSpan span) const {
    return std::span(characters).subspan(span.begin, span.end - span.begin);
  }
  [[nodiscard]] ByteSpan bytes(CharSpan span) const { return {places[span.begin], places[span.end]}; }
  [[nodiscard]] std::string_view slice(CharSpan span) const {
    return text.substr(places[span.begin], places[span.end] - places[span.begin]);
  }
};

Result<EnglishTokenizer> EnglishTokenizer::create(const TaggerFile& file) {
  auto rules = AffixRules::create(file);
  if (!rules) return rules.error();
  const auto table = file.table("specials", 4);
  if (!table) return table.error();
  EnglishTokenizer tokenizer(*std::move(rules));
  tokenizer.specials_.reserve(table->size());
  for (const TaggerRecord& record : *table) {
    Special special;
    std::from_chars(record[1].data(), record[1].data() + record[1].size(), special.plain_tokens);
    for (std::size_t i = 2; i + 1 < record.size(); i += 2) special.tokens.emplace_back(record[i], record[i + 1]);
    tokenizer.longest_special_ = std::max(tokenizer.longest_special_, record[0].size());
    tokenizer.most_plain_tokens_ = std::max(tokenizer.most_plain_tokens_, special.plain_tokens);
    tokenizer.specials_.emplace(record[0], std::move(special));
  }
  return tokenizer;
}

const EnglishTokenizer::Special* EnglishTokenizer::special(std::string_view text) const {
  if (text.size() > longest_special_) return nullptr;  // bounds the work on long texts
  const auto found = specials_.find(text);
  return found == specials_.end() ? nullptr : &found->second;
}

void EnglishTokenizer::add_special(const Special& special, std::size_t at, std::vector<EnglishToken>& tokens) {
  for (const auto& [word, norm] : special.tokens) {
    tokens.push_back({{at, at + word.size()}, false, false, norm});
    at += word.size();
  }
}

void EnglishTokenizer::cut_core(const Chunk& chunk, CharSpan core, std::vector<EnglishToken>& tokens) const {
  if (core.begin == core.end) return;
  if (const Special* whole = special(chunk.slice(core))) {
    add_special(*whole, chunk.places[core.begin], tokens);
    return;
  }
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) tokens.push_back({chunk.bytes({core.begin + begin, core.begin + end}), false, false, {}});
  };
  const auto view = chunk.view(core);
  std::size_t start = 0;
  if (!rules_.is_address(view)) {
    for (const CharSpan& infix : rules_.infixes(view)) {
      if (infix.begin == 0) continue;  // as in spaCy, a separator at the front stays on its word
      add(start, infix.begin);
      add(infix.begin, infix.end);
      start = infix.end;
    }
  }
  add(start, view.size());
}

void EnglishTokenizer::cut_chunk(const Chunk& chunk, std::vector<EnglishToken>& tokens) const {
  CharSpan core{0, chunk.characters.size()};
  std::vector<CharSpan> suffixes;
  while (core.begin < core.end && special(chunk.slice(core)) == nullptr) {
    const std::size_t prefix = rules_.prefix(chunk.view(core));
    const CharSpan behind{core.begin + prefix, core.end};
    const auto take_prefix = [&] { tokens.push_back({chunk.bytes({core.begin, behind.begin}), false, false, {}}); };
    if (prefix > 0 && special(chunk.slice(behind)) != nullptr) {
      take_prefix();
      core = behind;
      break;
    }
    const std::size_t suffix = rules_.suffix(chunk.view(behind));
    const CharSpan before{core.begin, core.end - suffix};
    if (suffix > 0 && special(chunk.slice(before)) != nullptr) {
      suffixes.push_back({before.end, core.end});
      core = before;
      break;
    }
    if (prefix == 0 && suffix == 0) break;
    if (prefix > 0) take_prefix();
    if (suffix > 0) suffixes.push_back({before.end, core.end});
    core = {behind.begin, before.end};
  }
  cut_core(chunk, core, tokens);
  for (auto suffix = suffixes.rbegin(); suffix != suffixes.rend(); ++suffix)
    tokens.push_back({chunk.bytes(*suffix), false, false, {}});
}

/// Special cases that the affix rules have cut, such as ":)" behind a word, in one piece again.
std::vector<EnglishToken> EnglishTokenizer::joined(std::string_view text, std::vector<EnglishToken> tokens) const {
  std::vector<EnglishToken> out;
  out.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size();) {
    const Special* match = nullptr;
    std::size_t taken = 0;
    const std::size_t begin = tokens[i].span.begin;
    for (std::size_t n = 1; n <= most_plain_tokens_ && i + n <= tokens.size() && !tokens[i].is_space; ++n) {
      if (n > 1 && tokens[i + n - 1].span.begin != tokens[i + n - 2].span.end) break;
      const std::size_t end = tokens[i + n - 1].span.end;
      if (end - begin > longest_special_) break;
      const Special* found = special(text.substr(begin, end - begin));
      if (found != nullptr && found->plain_tokens == n && n > 1) {
        match = found;
        taken = n;
      }
    }
    if (match == nullptr) {
      out.push_back(tokens[i++]);
      continue;
    }
    add_special(*match, begin, out);
    out.back().space_after = tokens[i + taken - 1].space_after;
    i += taken;
  }
  return out;
}

std::vector<EnglishToken> EnglishTokenizer::tokenize(std::string_view text) const {
  std::vector<EnglishToken> tokens;
  Chunk chunk{text, {}, {}};
  const auto read = [&](std::size_t at) {
    CodePoint next = read_code_point(text, at);
    if (next.value == kInvalidCodePoint) next.value = 0xFFFD;
    return next;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (is_white_space(read(at).value)) {
      while (at < text.size() && is_white_space(read(at).value)) at += read(at).length;
      // One blank behind a word belongs to it; what is left is a token.
      const bool blank = !tokens.empty() && text[begin] == ' ';
      if (blank) tokens.back().space_after = true;
      if (const std::size_t first = begin + (blank ? 1 : 0); first < at) {
        const Special* whole = special(text.substr(first, at - first));
        tokens.push_back({{first, at}, false, true, whole != nullptr ? whole->tokens[0].second : std::string_view()});
      }
      continue;
    }
    chunk.characters.clear();
    chunk.places.clear();
    while (at < text.size()) {
      const CodePoint next = read(at);
      if (is_white_space(next.value)) break;
      chunk.characters.push_back(next.value);
      chunk.places.push_back(at);
      at += next.length;
    }
    chunk.places.push_back(at);
    cut_chunk(chunk, tokens);
  }
  return joined(text, std::move(tokens));
}

}  // namespace casemate
