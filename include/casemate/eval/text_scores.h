// casemate/eval/text_scores.h
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

/// Semantic similarity: the cosine of two embeddings of one length; 0 where either has norm 0.
[[nodiscard]] double embedding_cosine(std::span<const float> a, std::span<const float> b);

/// Chunk recovery (untargeted attacks): the share of chunks of which some output gave back enough. Two curves, because
/// an output that holds several chunks is long, which edit similarity punishes and a subsequence's recall does not.
class ChunkRecovery {
 public:
  /// What one output gave back of a chunk: its edit similarity, and the recall of the longest common subsequence.
  void add(const std::string& chunk, double edit_similarity, double subsequence_recall);
  [[nodiscard]] std::size_t chunks() const noexcept { return best_.size(); }
  /// Share of the chunks whose best value reaches `threshold`; 0 without chunks.
  [[nodiscard]] double rate_by_edits(double threshold) const;
  [[nodiscard]] double rate_by_subsequence(double threshold) const;

 private:
  std::map<std::string, std::pair<double, double>> best_;
};

}  // namespace casemate
