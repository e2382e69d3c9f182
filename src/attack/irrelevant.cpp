#include "attack/corpus_sample.h"
#include "attack/words.h"
#include "casemate/attack/corpus_poisons.h"

namespace casemate {

Result<std::unique_ptr<Irrelevant>> Irrelevant::create(const IrrelevantOptions& options) {
  if (Status good = check_rate("irrelevant", options.rate); !good) return good.error();
  return std::unique_ptr<Irrelevant>(new Irrelevant(options));
}

std::vector<std::pair<std::string, std::string>> Irrelevant::parameters() const {
  return {{"rate", number_text(options_.rate)}};
}

Result<CraftedAttack> Irrelevant::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  for (const std::size_t index : sample_corpus(input, options_.rate)) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const CorpusPassage& passage = input.corpus[index];
    CraftedDocument document = crafted_from(input, name(), out.documents.size(), passage);
    const std::string& text = passage.text.bytes();
    const auto words = blank_separated_words(text);
    RandomStream random(input.seed, "attack/irrelevant/" + passage.id);
    std::string shuffled;
    for (const std::size_t word : draw_indices(random, words.size(), words.size())) {
      if (!shuffled.empty()) shuffled += ' ';
      shuffled += text.substr(words[word].begin, words[word].end - words[word].begin);
    }
    document.changed.push_back({0, count_characters(shuffled)});
    document.text = UntrustedText(std::move(shuffled));
    out.documents.push_back(std::move(document));
  }
  return out;
}

}  // namespace casemate
