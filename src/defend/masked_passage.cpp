#include "defend/masked_passage.h"

#include <algorithm>

#include "casemate/core/utf8.h"

namespace casemate {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

MaskedPassage uncut_passage(const PassageCandidate& candidate) {
  MaskedPassage passage;
  passage.text = candidate.text.bytes();
  passage.text_hash = blake2b(passage.text);
  passage.content_hash = candidate.content_hash == Digest{} ? passage.text_hash : candidate.content_hash;
  return passage;
}

void cut_passage(const Encoder& encoder, std::size_t mask_length_tokens, MaskedPassage& passage) {
  const Tokenizer& tokenizer = encoder.tokenizer();
  const std::string& prefix = encoder.info().passage_prefix;
  const Tokens tokens = tokenizer.tokenize(prefix + std::string(passage.text), SpecialTokens::kAsText);
  const std::size_t framing = tokenizer.prefix().size() + tokenizer.suffix().size();
  const auto limit = static_cast<std::size_t>(std::max(encoder.info().max_tokens, 0));
  const std::size_t room = limit > framing ? limit - framing : 0;
  const std::size_t kept = std::min(tokens.ids.size(), room);
  passage.tokens_cut = tokens.ids.size() - kept;
  passage.ids.assign(tokenizer.prefix().begin(), tokenizer.prefix().end());
  const std::size_t offset = passage.ids.size();
  passage.ids.insert(passage.ids.end(), tokens.ids.begin(), tokens.ids.begin() + static_cast<std::ptrdiff_t>(kept));
  passage.ids.insert(passage.ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());

  passage.segments.clear();
  std::size_t first = 0;  // past the encoder's prefix, which is ours and not the passage's
  while (first < kept && !prefix.empty() && tokens.spans[first].end <= prefix.size()) ++first;
  passage.tokens = kept - first;
  for (std::size_t begin = first; begin < kept; begin += mask_length_tokens) {
    const std::size_t end = std::min(begin + mask_length_tokens, kept);
    const auto in_text = [&](std::size_t byte) { return byte > prefix.size() ? byte - prefix.size() : 0; };
    TokenSpan bytes{in_text(tokens.spans[begin].begin), 0};
    for (std::size_t t = begin; t < end; ++t) bytes.end = std::max(bytes.end, in_text(tokens.spans[t].end));
    passage.segments.push_back({offset + begin, offset + end, bytes});
  }
}

std::vector<TokenId> perturbed_ids(const MaskedPassage& passage, std::span<const std::size_t> which, MaskAction action,
                                   TokenId mask_id) {
  std::vector<TokenId> ids;
  ids.reserve(passage.ids.size());
  std::size_t at = 0;
  for (const std::size_t index : which) {
    const MaskedPassage::Segment& segment = passage.segments[index];
    ids.insert(ids.end(), passage.ids.begin() + static_cast<std::ptrdiff_t>(at),
               passage.ids.begin() + static_cast<std::ptrdiff_t>(segment.begin));
    if (action == MaskAction::kMask) ids.insert(ids.end(), segment.end - segment.begin, mask_id);
    at = segment.end;
  }
  ids.insert(ids.end(), passage.ids.begin() + static_cast<std::ptrdiff_t>(at), passage.ids.end());
  return ids;
}

std::vector<TokenSpan> joined_spans(std::string_view text, std::span<const TokenSpan> spans) {
  std::vector<TokenSpan> joined;
  for (TokenSpan span : spans) {
    span.end = std::min(span.end, text.size());
    span.begin = std::min(span.begin, span.end);
    while (span.begin > 0 && span.begin < text.size() && is_continuation(text[span.begin])) --span.begin;
    while (span.end < text.size() && is_continuation(text[span.end])) ++span.end;
    if (!joined.empty()) {
      std::size_t next = joined.back().end;
      while (next < span.begin && is_blank(text[next])) ++next;
      if (next >= span.begin) {
        joined.back().end = std::max(joined.back().end, span.end);
        continue;
      }
    }
    joined.push_back(span);
  }
  return joined;
}

std::vector<CharacterSpan> character_spans(std::string_view text, std::span<const TokenSpan> spans) {
  std::vector<CharacterSpan> out;
  std::size_t byte = 0;
  std::size_t character = 0;
  const auto go_to = [&](std::size_t target) {
    while (byte < target && byte < text.size()) {
      byte += std::max<std::size_t>(read_code_point(text, byte).length, 1);
      ++character;
    }
    return character;
  };
  for (const TokenSpan& span : spans) {
    const std::size_t begin = go_to(span.begin);
    out.push_back({begin, go_to(span.end)});
  }
  return out;
}

std::string text_without(std::string_view text, std::span<const TokenSpan> spans, MaskAction action) {
  std::string out;
  std::size_t at = 0;
  for (const TokenSpan& span : spans) {
    out += text.substr(at, span.begin - at);
    out += action == MaskAction::kMask ? "[...]" : " ";
    at = span.end;
  }
  out += text.substr(at);
  return out;
}

}  // namespace casemate
