// casemate/text/bleu.h
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate {

/// What BLEU counts, over one sentence or summed over many.
struct BleuCounts {
  std::array<std::size_t, 4> correct{};  ///< clipped n-gram matches, n = 1 to 4
  std::array<std::size_t, 4> total{};    ///< n-grams of the predictions
  std::size_t predicted_length = 0;      ///< words
  std::size_t reference_length = 0;      ///< words of the references closest in length, the shorter on ties

  BleuCounts& operator+=(const BleuCounts& other);
};

struct BleuScore {
  double score = 0;  ///< in [0, 100]
  std::array<double, 4> precisions{};
  double brevity_penalty = 0;  ///< in [0, 1]
};

/// Words as the WMT tokenizer "13a" makes them, case kept (sacrebleu's default).
[[nodiscard]] std::vector<std::string> bleu_words(std::string_view text);

/// No reference counts as one empty reference.
[[nodiscard]] BleuCounts bleu_counts(std::string_view prediction, std::span<const std::string> references);

/// Papineni et al. 2002 with exponential smoothing (sacrebleu's default). `effective_order` leaves out n-gram orders
/// that the prediction is too short for: use it for sentences, not for a corpus.
[[nodiscard]] BleuScore bleu(const BleuCounts& counts, bool effective_order);

/// Unigram BLEU over lower-cased words split at white space, in [0, 1].
[[nodiscard]] double bleu1(std::string_view prediction, std::span<const std::string> references);

}  // namespace casemate
