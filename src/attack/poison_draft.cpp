#include "attack/poison_draft.h"

#include <algorithm>

#include "attack/words.h"

namespace casemate {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

bool overlap(const TokenSpan& a, const TokenSpan& b) { return a.begin < b.end && b.begin < a.end; }

std::vector<TokenId> without(std::span<const TokenId> ids, TokenId left_out) {
  std::vector<TokenId> out;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out), [left_out](TokenId id) { return id != left_out; });
  return out;
}

}  // namespace

namespace {

/// `read_passage` without the limit.
ReadPassage read_whole(const Encoder& encoder, std::string_view text) {
  const Tokenizer& tokenizer = encoder.tokenizer();
  const std::string& prefix = encoder.info().passage_prefix;
  const Tokens tokens = tokenizer.tokenize(prefix + std::string(text), SpecialTokens::kAsText);
  ReadPassage out;
  out.ids.assign(tokenizer.prefix().begin(), tokenizer.prefix().end());
  out.spans.resize(out.ids.size());
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    const TokenSpan& span = tokens.spans[i];
    const auto in_text = [&prefix](std::size_t byte) { return byte > prefix.size() ? byte - prefix.size() : 0; };
    out.ids.push_back(tokens.ids[i]);
    out.spans.push_back({in_text(span.begin), in_text(span.end)});
  }
  out.ids.insert(out.ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
  out.spans.resize(out.ids.size());
  out.full_length = out.ids.size();
  return out;
}

std::size_t limit_of(const Encoder& encoder) {
  return static_cast<std::size_t>(std::max(encoder.info().max_tokens, 0));
}

}  // namespace

ReadPassage read_passage(const Encoder& encoder, std::string_view text) {
  ReadPassage out = read_whole(encoder, text);
  const std::size_t limit = limit_of(encoder);
  if (out.ids.size() <= limit) return out;
  const std::span<const TokenId> suffix = encoder.tokenizer().suffix();
  const std::size_t kept = limit > suffix.size() ? limit - suffix.size() : 0;
  out.ids.resize(kept);
  out.spans.resize(kept);
  out.ids.insert(out.ids.end(), suffix.begin(), suffix.end());
  out.spans.resize(out.ids.size());
  return out;
}

PoisonDraft::PoisonDraft(const Encoder& encoder, std::string source, std::vector<SlotGroup> groups)
    : encoder_(encoder), source_(std::move(source)), groups_(std::move(groups)) {
  for (const SlotGroup& group : groups_) slots_ += group.slots;
}

std::optional<PoisonDraft::Version> PoisonDraft::write(std::span<const TokenId> slots) const {
  const Tokenizer& tokenizer = encoder_.tokenizer();
  const TokenId mask = tokenizer.mask_id();
  Version out;
  out.slots.assign(slots.begin(), slots.end());
  std::size_t from = 0;
  std::size_t slot = 0;
  for (const SlotGroup& group : groups_) {
    const std::vector<TokenId> filled = without(slots.subspan(slot, group.slots), mask);
    slot += group.slots;
    out.text += source_.substr(from, group.at - from);
    from = group.at;
    const std::string planted = tokenizer.decode(filled);
    if (!planted.empty() && !out.text.empty() && !is_blank(out.text.back())) out.text += ' ';
    const std::size_t begin = out.text.size();
    out.text += planted;
    out.group_bytes.push_back({begin, out.text.size()});
    if (!planted.empty() && group.at < source_.size()) out.text += ' ';
  }
  out.text += source_.substr(from);

  // What the encoder's tokenizer makes of the text is the truth; the tokens of each group must be found in it.
  const ReadPassage read = read_whole(encoder_, out.text);
  const std::size_t framing = tokenizer.suffix().size();
  const std::size_t last = read.ids.size() - framing;
  std::size_t at = 0;
  slot = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const TokenSpan& bytes = out.group_bytes[g];
    // Framing and the encoder's prefix have empty spans at 0 and come first.
    while (at < last && read.spans[at].end <= bytes.begin) out.ids.push_back(read.ids[at++]);
    for (std::size_t s = 0; s < groups_[g].slots; ++s, ++slot) {
      if (slots[slot] == mask && mask >= 0) {
        out.positions.push_back(out.ids.size());
        out.slot_bytes.push_back({bytes.begin, bytes.begin});
        out.ids.push_back(mask);
        continue;
      }
      if (at == last || read.ids[at] != slots[slot] || !overlap(read.spans[at], bytes)) return std::nullopt;
      out.positions.push_back(out.ids.size());
      out.slot_bytes.push_back(read.spans[at]);
      out.ids.push_back(read.ids[at++]);
    }
    if (at < last && overlap(read.spans[at], bytes)) return std::nullopt;  // more tokens than were meant
  }
  while (at < last) out.ids.push_back(read.ids[at++]);
  const std::size_t limit = limit_of(encoder_);
  if (out.ids.size() + framing > limit) out.ids.resize(limit > framing ? limit - framing : 0);
  for (std::size_t& position : out.positions) {
    if (position >= out.ids.size()) position = kCutOff;
  }
  out.ids.insert(out.ids.end(), tokenizer.suffix().begin(), tokenizer.suffix().end());
  return out;
}

std::optional<std::vector<TokenId>> PoisonDraft::fill(std::span<const TokenId> wanted) const {
  const Tokenizer& tokenizer = encoder_.tokenizer();
  std::vector<TokenId> usable;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(usable),
               [&tokenizer](TokenId id) { return !tokenizer.is_special(id); });
  if (usable.empty()) return std::nullopt;
  std::vector<TokenId> out;
  std::vector<SlotGroup> filled;
  std::size_t next = 0;
  for (const SlotGroup& group : groups_) {
    filled.push_back({group.at, 0});
    for (std::size_t refused = 0; filled.back().slots < group.slots; ++next) {
      out.push_back(usable[next % usable.size()]);
      ++filled.back().slots;
      if (PoisonDraft(encoder_, source_, filled).write(out)) {
        refused = 0;
        continue;
      }
      out.pop_back();
      --filled.back().slots;
      if (++refused >= usable.size()) return std::nullopt;
    }
  }
  return out;
}

std::size_t last_readable_place(const Encoder& encoder, std::string_view passage, std::size_t tokens) {
  const ReadPassage read = read_whole(encoder, passage);
  const std::size_t limit = limit_of(encoder);
  if (read.full_length + tokens <= limit) return passage.size();
  const std::size_t framing = encoder.tokenizer().suffix().size();
  if (tokens + framing >= limit) return 0;
  // Tokens that may stand before the place.
  const std::size_t before = std::min(limit - framing - tokens, read.spans.size());
  const std::size_t byte = before == 0 ? 0 : read.spans[before - 1].end;
  std::size_t place = 0;
  for (const BlankSeparatedWord& word : blank_separated_words(passage)) {
    if (word.begin <= byte) place = word.begin;
  }
  return place;
}

}  // namespace casemate
