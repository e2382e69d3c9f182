#include "attack/answer_target.h"

#include "attack/words.h"

namespace casemate {

Result<std::string> wanted_answer(const AttackInput& input, const WrongAnswers& pool, const AttackTarget& target,
                                  std::string_view attack) {
  if (!target.wrong_answer.empty()) return target.wrong_answer.bytes();
  // The same wrong answer for every attack on answers under one seed.
  RandomStream random(input.seed, "attack/wrong-answer/" + target.query_id);
  const std::string right = target.answers.empty() ? "" : target.answers[0].bytes();
  if (auto wrong = pool.wrong_for(target, right, target.query.bytes(), random); wrong) return *std::move(wrong);
  return Error{ErrorCode::kInvalidInput, std::string(attack) + ": no wrong answer is known for query " +
                                             UntrustedText(target.query_id).for_log() +
                                             ": give it one (wrong_answer), or ask queries with answers together"};
}

CraftedDocument answer_document(const AttackTarget& target, const std::string& answer, const UntrustedText& text) {
  CraftedDocument document;
  document.changed.push_back({0, count_characters(text.bytes())});
  document.text = text;
  document.target_queries = {target.query_id};
  document.target_answer = UntrustedText(answer);
  return document;
}

}  // namespace casemate
