#include "attack/answer_target.h"
#include "attack/words.h"
#include "casemate/attack/answer_attacks.h"
#include "casemate/attack/answer_poisons.h"

namespace casemate {

Result<std::unique_ptr<Pia>> Pia::create(const PiaOptions& options) {
  if (options.repeat < 1 || options.repeat > 100)
    return Error{ErrorCode::kInvalidOption, "pia: repeat must be in 1 to 100"};
  if (options.documents_per_query < 1 || options.documents_per_query > 100)
    return Error{ErrorCode::kInvalidOption, "pia: documents_per_query must be in 1 to 100"};
  return std::unique_ptr<Pia>(new Pia(options));
}

std::vector<std::pair<std::string, std::string>> Pia::parameters() const {
  return {{"repeat", std::to_string(options_.repeat)},
          {"documents_per_query", std::to_string(options_.documents_per_query)}};
}

Result<CraftedAttack> Pia::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  const WrongAnswers pool(input.targets);
  for (const AttackTarget& target : input.targets) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const auto answer = wanted_answer(input, pool, target, name());
    if (!answer) return answer.error();
    const UntrustedText text = injected_instruction(target.query, UntrustedText(*answer), options_.repeat);
    for (int i = 0; i < options_.documents_per_query; ++i) {
      CraftedDocument document = answer_document(target, *answer, text);
      document.id = attack_document_id(name(), out.documents.size());
      out.documents.push_back(std::move(document));
    }
  }
  return out;
}

}  // namespace casemate
