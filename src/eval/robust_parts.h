// What the robust answers of one experiment and one model share.
#pragma once

#include <memory>

#include "casemate/generate/robust_rag.h"

namespace casemate {

/// States of passages, keywords, and answers of isolated prompts that several conditions and certificates ask.
class RobustParts {
 public:
  /// Error: what the keywords' extractor says.
  [[nodiscard]] static Result<RobustParts> create();

  /// `options` with these parts, which must outlive their use.
  [[nodiscard]] RobustOptions into(RobustOptions options) const;
  [[nodiscard]] AnswerMemory* answers() const noexcept { return answers_.get(); }

 private:
  std::unique_ptr<PassageStates> states_;
  std::unique_ptr<AnswerMemory> answers_;
  std::unique_ptr<KeywordExtractor> keywords_;
};

}  // namespace casemate
