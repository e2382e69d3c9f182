// casemate/text/chunker.h
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

struct ChunkerOptions {
  int max_tokens = 200;      ///< retriever tokens a chunk, without [CLS] and [SEP]; 16 to 100,000
  int overlap_tokens = 40;   ///< tokens that a chunk may share with the one before; 0 to max_tokens / 2
  bool one_passage = false;  ///< the text is one chunk whatever its length (passages of a data set)
};

struct Chunk {
  ByteSpan span;           ///< bytes of the text, without blanks at the ends
  std::size_t tokens = 0;  ///< retriever tokens of exactly these bytes, tokenised alone, in text mode
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status check(const ChunkerOptions& options);

/// Cuts `text` into chunks of whole sentences (sentence_spans), as many as fit into `max_tokens`.
///
/// Chunks are in order, begin and end later than the one before, and together hold every byte but blanks. The overlap
/// is made of whole sentences where at least one fits, else of the last words before; it is counted in the tokens of
/// the whole text. A sentence longer than the limit is cut between tokens, before a word where one begins near. No
/// chunk has more than `max_tokens` (but for one character that alone has more). With `one_passage` the caller compares
/// `Chunk::tokens` with the encoder's limit. A text without tokens gives no chunks.
/// Tokenises the text once as a whole and once more by chunk. Error: InvalidOption.
[[nodiscard]] Result<std::vector<Chunk>> chunk_text(std::string_view text, const Tokenizer& tokenizer,
                                                    const ChunkerOptions& options);

}  // namespace casemate
