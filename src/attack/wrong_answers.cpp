#include "attack/wrong_answers.h"

#include <algorithm>

#include "attack/words.h"
#include "casemate/text/answer_match.h"

namespace casemate {
namespace {

constexpr int kTries = 64;

bool is_right(const AttackTarget& target, const std::string& answer) {
  return std::any_of(target.answers.begin(), target.answers.end(), [&answer](const UntrustedText& right) {
    return exact_match(answer, right.bytes()) == 1 || contains_answer(answer, right.bytes());
  });
}

}  // namespace

WrongAnswers::Kind WrongAnswers::kind_of(std::string_view answer) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (answer.size() == 4 && std::all_of(answer.begin(), answer.end(), is_digit) &&
      (answer[0] == '1' || answer[0] == '2'))
    return Kind::kYear;
  if (std::any_of(answer.begin(), answer.end(), is_digit)) return Kind::kNumber;
  return !answer.empty() && answer[0] >= 'A' && answer[0] <= 'Z' ? Kind::kName : Kind::kOther;
}

WrongAnswers::WrongAnswers(std::span<const AttackTarget> targets) : targets_(targets) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].answers.empty() || targets[i].answers[0].empty()) continue;
    const std::string& answer = targets[i].answers[0].bytes();
    const Kind kind = kind_of(answer);
    pools_[{kind, blank_separated_words(answer).size()}].push_back(i);
    pools_[{kind, 0}].push_back(i);
    all_.push_back(i);
  }
}

std::optional<std::string> WrongAnswers::wrong_for(const AttackTarget& target, const std::string& right,
                                                   std::string_view text, RandomStream& random) const {
  const Kind kind = kind_of(right);
  const auto same = pools_.find({kind, blank_separated_words(right).size()});
  const auto like = pools_.find({kind, 0});
  for (const std::vector<std::size_t>* pool :
       {same == pools_.end() ? nullptr : &same->second, like == pools_.end() ? nullptr : &like->second, &all_}) {
    if (pool == nullptr || pool->empty()) continue;
    for (int i = 0; i < kTries; ++i) {
      const AttackTarget& other = targets_[(*pool)[random.below(pool->size())]];
      const std::string& answer = other.answers[0].bytes();
      const bool same_passage = !other.gold_document.empty() && other.gold_document == target.gold_document;
      if (same_passage || other.query_id == target.query_id || contains_answer(text, answer) ||
          is_right(target, answer))
        continue;
      return answer;
    }
  }
  return std::nullopt;
}

}  // namespace casemate
