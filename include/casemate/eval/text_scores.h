// casemate/eval/text_scores.h
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/bleu.h"
#include "casemate/text/rouge.h"

namespace casemate {

/// An answer and the texts that it should equal.
struct TextPair {
  std::string id;
  std::string prediction;
  std::vector<std::string> references;  ///< at least one
};

/// All but BLEU in [0, 1].
struct TextScores {
  double exact_match = 0;  ///< SQuAD 1.1, best reference
  double f1 = 0;           ///< SQuAD 1.1, best reference
  double bleu = 0;         ///< sacrebleu's sentence BLEU over all references, in [0, 100]
  double bleu1 = 0;        ///< over all references
  RougeScore rouge1;       ///< of the reference with the best F, the first of several
  RougeScore rouge2;
  RougeScore rouge_l;
  double eed = 0;      ///< edit similarity, best reference
  double jaccard = 0;  ///< of the sets of lower-cased words, best reference
};

[[nodiscard]] TextScores score_text(const TextPair& pair);

struct TextReport {
  std::vector<TextScores> pairs;  ///< in order
  TextScores mean;                ///< 0 where there are no pairs
  double bleu_corpus = 0;         ///< in [0, 100]
};

[[nodiscard]] TextReport score_texts(std::span<const TextPair> pairs);

/// JSON lines {"id", "prediction", "references": [..] or "reference": text}; a missing id is the line's number. Error:
/// InvalidInput with path and line for a line that is not such an object; NotFound, Io, Limit.
[[nodiscard]] Result<std::vector<TextPair>> read_text_pairs(const std::string& path);

/// {pairs: [{id, exact_match, f1, bleu, bleu1, rouge1, rouge2, rougeL: {precision, recall, f}, eed, jaccard}], means,
/// bleu_corpus} on one line.
[[nodiscard]] std::string to_json(std::span<const TextPair> pairs, const TextReport& report);

}  // namespace casemate
