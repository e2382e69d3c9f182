#include "eval/robust_parts.h"

namespace casemate {

Result<RobustParts> RobustParts::create() {
  RobustParts out;
  auto states = PassageStates::create({});
  if (!states) return states.error();
  out.states_ = *std::move(states);
  out.answers_ = std::make_unique<AnswerMemory>();
  auto keywords = KeywordExtractor::create();
  if (!keywords) return keywords.error();
  out.keywords_ = *std::move(keywords);
  return out;
}

RobustOptions RobustParts::into(RobustOptions options) const {
  options.states = states_.get();
  options.answers = answers_.get();
  options.keywords = keywords_by(*keywords_);
  return options;
}

}  // namespace casemate
