// casemate/encoder/heads.h
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"

namespace casemate {

struct HeadOptions {
  int max_tokens = 0;  ///< longest input of question and passage together, in [8, model's positions]; 0: the model's
  int stride = 128;    ///< reader only: tokens that two windows over a long passage share; in [0, 10000]
  int max_answer_tokens = 30;  ///< reader only; in [1, 1000]
};

/// A cross-encoder: a `...ForSequenceClassification` checkpoint that scores how well a passage answers a query.
/// Immutable, thread-safe. Question and passage are tokenised as text.
class Reranker {
 public:
  virtual ~Reranker() = default;
  /// One score a passage; higher is better. With one label it is the logit, with two the logit of label 1 minus that of
  /// label 0. A passage that does not fit is cut at its end. Error: Model where a score is not finite.
  [[nodiscard]] virtual Result<std::vector<float>> score(std::string_view query,
                                                         std::span<const std::string_view> passages) const = 0;
};

/// Error: as `load_bert_encoder`; Unsupported where the checkpoint has no classification head or more than two labels.
[[nodiscard]] Result<std::unique_ptr<Reranker>> load_reranker(const std::string& folder, const HeadOptions& options,
                                                              const ThreadPool& pool);

/// An answer found inside a passage.
struct AnswerSpan {
  std::size_t begin = 0;  ///< bytes [begin, end) of the passage; empty: no answer
  std::size_t end = 0;
  float score = 0;       ///< start logit + end logit of the span
  float null_score = 0;  ///< the same of "no answer" (the first token), the least over the windows
};

/// An extractive reader: a `...ForQuestionAnswering` checkpoint. Immutable, thread-safe.
class ExtractiveReader {
 public:
  virtual ~ExtractiveReader() = default;
  /// The best span of each passage for `question`. Passages longer than the limit are read in overlapping windows.
  /// Error: InvalidArgument where the question alone fills the input; Model where a logit is not finite.
  [[nodiscard]] virtual Result<std::vector<AnswerSpan>> read(std::string_view question,
                                                             std::span<const std::string_view> passages) const = 0;
};

/// Error: as `load_bert_encoder`; Unsupported where the checkpoint has no question-answering head.
[[nodiscard]] Result<std::unique_ptr<ExtractiveReader>> load_extractive_reader(const std::string& folder,
                                                                               const HeadOptions& options,
                                                                               const ThreadPool& pool);

}  // namespace casemate
