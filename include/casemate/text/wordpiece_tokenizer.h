// casemate/text/wordpiece_tokenizer.h
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

struct WordPieceOptions {
  bool lowercase = true;              ///< lower-case each character (no final-sigma rule)
  bool strip_accents = true;          ///< NFD, then drop nonspacing marks
  bool split_chinese = true;          ///< each CJK ideograph is a word
  bool clean_text = true;             ///< drop NUL, U+FFFD, control, format and private-use characters
  int max_characters_per_word = 100;  ///< longer words become [UNK]; >= 1
};

/// BERT's WordPiece, id for id as Hugging Face's `BertTokenizer(Fast)`.
///
/// `vocabulary` is the list of pieces in id order and must hold [UNK], [CLS], [SEP], [PAD]; [MASK] may be missing.
/// Error: InvalidInput, naming the missing or repeated piece.
[[nodiscard]] Result<std::unique_ptr<Tokenizer>> create_wordpiece_tokenizer(std::vector<std::string> vocabulary,
                                                                            const WordPieceOptions& options);

}  // namespace casemate
