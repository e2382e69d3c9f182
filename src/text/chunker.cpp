#include "casemate/text/chunker.h"

#include <algorithm>
#include <string>
#include <utility>

#include "casemate/text/segmentation.h"
#include "text/token_cuts.h"

namespace casemate {
namespace {

/// What is never cut further: a sentence, or a part of one that is longer than a chunk may be.
struct Unit {
  std::size_t token_begin = 0;
  std::size_t token_end = 0;
  ByteSpan bytes;
  [[nodiscard]] std::size_t tokens() const { return token_end - token_begin; }
};

class Chunking {
 public:
  Chunking(std::string_view text, const Tokenizer& tokenizer, const ChunkerOptions& options)
      : text_(text),
        tokenizer_(tokenizer),
        max_(static_cast<std::size_t>(options.max_tokens)),
        overlap_(static_cast<std::size_t>(options.overlap_tokens)),
        spans_(tokenizer.tokenize(text, SpecialTokens::kAsText).spans) {}

  std::vector<Chunk> run() {
    make_units();
    std::vector<Chunk> chunks;
    std::size_t next = 0;  // first unit that no chunk has yet
    Start start{};
    if (!units_.empty()) start = start_of(0);
    while (next < units_.size()) {
      std::size_t end = next + 1;
      while (end < units_.size() && units_[end].token_end - start.token <= max_) ++end;
      chunks.push_back(fitting_chunk(start, next, end));
      next = end;
      if (next < units_.size()) start = overlap_before(next, start.token);
    }
    return chunks;
  }

 private:
  struct Start {
    std::size_t token = 0;
    std::size_t byte = 0;
  };

  Start start_of(std::size_t unit) const { return {units_[unit].token_begin, units_[unit].bytes.begin}; }

  void make_units() {
    std::size_t token = 0;
    for (const ByteSpan& sentence : sentence_spans(text_)) {
      const std::size_t begin = token;
      while (token < spans_.size() && spans_[token].begin < sentence.end) ++token;
      if (begin == token) {
        if (!units_.empty()) units_.back().bytes.end = sentence.end;
        continue;
      }
      add_unit({begin, token, sentence});
    }
    if (!units_.empty()) units_.front().bytes.begin = 0;
  }

  void add_unit(Unit unit) {
    // Parts leave room for the overlap, so that parts of one long sentence overlap as chunks do.
    const std::size_t part = max_ - overlap_;
    while (unit.tokens() > max_) {
      const std::size_t cut = cut_before(text_, spans_, unit.token_begin, unit.token_begin + part, part / 4);
      if (cut >= unit.token_end) break;
      units_.push_back({unit.token_begin, cut, {unit.bytes.begin, spans_[cut].begin}});
      unit.token_begin = cut;
      unit.bytes.begin = spans_[cut].begin;
    }
    units_.push_back(unit);
  }

  /// The chunk from `start` to before unit `end`; less where its bytes, tokenised alone, are more tokens than they were
  /// in the whole text. `first` is the first new unit, which the chunk must have.
  Chunk fitting_chunk(Start& start, std::size_t first, std::size_t& end) {
    for (;;) {
      const ByteSpan span = trimmed(text_, {start.byte, units_[end - 1].bytes.end});
      const std::size_t tokens =
          tokenizer_.tokenize(text_.substr(span.begin, span.size()), SpecialTokens::kAsText).ids.size();
      if (tokens <= max_) return {span, tokens};
      if (end > first + 1) {
        --end;
      } else if (start.token < units_[first].token_begin) {
        start = start_of(first);
      } else if (!halve(first)) {
        return {span, tokens};
      }
    }
  }

  bool halve(std::size_t index) {
    const Unit unit = units_[index];
    const std::size_t cut = cut_before(text_, spans_, unit.token_begin, unit.token_begin + unit.tokens() / 2, 0);
    if (cut <= unit.token_begin || cut >= unit.token_end) return false;
    units_[index] = {unit.token_begin, cut, {unit.bytes.begin, spans_[cut].begin}};
    units_.insert(units_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                  Unit{cut, unit.token_end, {spans_[cut].begin, unit.bytes.end}});
    return true;
  }

  /// Where the chunk begins whose first new unit is `next`: later than `last`, where the chunk before began.
  Start overlap_before(std::size_t next, std::size_t last) const {
    const std::size_t size = units_[next].tokens();
    const std::size_t budget = size >= max_ ? 0 : std::min(overlap_, max_ - size);
    const std::size_t end = units_[next].token_begin;
    std::size_t unit = next;
    while (unit > 0 && units_[unit - 1].token_begin > last && end - units_[unit - 1].token_begin <= budget) --unit;
    if (unit < next || budget == 0) return start_of(unit);
    const std::size_t token = word_start_from(text_, spans_, std::max(last + 1, end - std::min(budget, end)), end);
    if (token >= end) return start_of(next);
    return {token, spans_[token].begin};
  }

  std::string_view text_;
  const Tokenizer& tokenizer_;
  std::size_t max_;
  std::size_t overlap_;
  std::vector<TokenSpan> spans_;
  std::vector<Unit> units_;
};

Error out_of_range(std::string_view field, int value, std::string_view range) {
  return Error{ErrorCode::kInvalidOption,
               "chunker." + std::string(field) + ": " + std::to_string(value) + " is not in " + std::string(range)};
}

}  // namespace

Status check(const ChunkerOptions& options) {
  if (options.max_tokens < 16 || options.max_tokens > 100'000) {
    return out_of_range("max_tokens", options.max_tokens, "[16, 100000]");
  }
  if (options.overlap_tokens < 0 || options.overlap_tokens > options.max_tokens / 2) {
    return out_of_range("overlap_tokens", options.overlap_tokens,
                        "[0, max_tokens / 2 = " + std::to_string(options.max_tokens / 2) + "]");
  }
  return {};
}

Result<std::vector<Chunk>> chunk_text(std::string_view text, const Tokenizer& tokenizer,
                                      const ChunkerOptions& options) {
  if (const Status valid = check(options); !valid) return valid.error();
  if (!options.one_passage) return Chunking(text, tokenizer, options).run();
  const ByteSpan span = trimmed(text, {0, text.size()});
  const std::size_t tokens =
      tokenizer.tokenize(text.substr(span.begin, span.size()), SpecialTokens::kAsText).ids.size();
  if (tokens == 0) return std::vector<Chunk>{};
  return std::vector<Chunk>{{span, tokens}};
}

}  // namespace casemate
