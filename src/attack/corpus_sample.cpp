#include "attack/corpus_sample.h"

#include <cmath>

#include "attack/words.h"

namespace casemate {

std::vector<std::size_t> sample_corpus(const AttackInput& input, double rate) {
  RandomStream random(input.seed, "attack/corpus-sample");
  const auto wanted = static_cast<std::size_t>(std::llround(rate * static_cast<double>(input.corpus.size())));
  return draw_indices(random, input.corpus.size(), wanted);
}

Status check_rate(std::string_view attack, double rate) {
  if (rate >= 0 && rate <= 1) return {};
  return Error{ErrorCode::kInvalidOption, std::string(attack) + ": rate must be in 0 to 1"};
}

CraftedDocument crafted_from(const AttackInput& input, std::string_view attack, std::size_t number,
                             const CorpusPassage& passage) {
  CraftedDocument document;
  document.id = attack_document_id(attack, number);
  document.title = passage.title;
  document.source_document = passage.id;
  for (const AttackTarget& target : input.targets) {
    if (target.gold_document == passage.id) document.target_queries.push_back(target.query_id);
  }
  return document;
}

}  // namespace casemate
