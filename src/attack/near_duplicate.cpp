#include <algorithm>

#include "attack/corpus_sample.h"
#include "attack/words.h"
#include "casemate/attack/corpus_poisons.h"

namespace casemate {
namespace {

/// `text` without `count` of its words, never without the last one that is left; `changed` gets an empty span where a
/// word went.
std::string leave_out_words(const std::string& text, std::size_t count, RandomStream& random,
                            std::vector<CharacterSpan>& changed) {
  const auto words = blank_separated_words(text);
  if (words.size() < 2) return text;
  auto gone = draw_indices(random, words.size(), std::min(count, words.size() - 1));
  std::sort(gone.begin(), gone.end());
  std::string out;
  std::size_t from = 0;
  for (const std::size_t index : gone) {
    out += text.substr(from, words[index].begin - from);
    // The blanks after the word go with it.
    from = index + 1 < words.size() ? words[index + 1].begin : words[index].end;
    const std::size_t at = count_characters(out);
    changed.push_back({at, at});
  }
  return out + text.substr(from);
}

}  // namespace

Result<std::unique_ptr<NearDuplicate>> NearDuplicate::create(const NearDuplicateOptions& options) {
  if (Status good = check_rate("near-duplicate", options.rate); !good) return good.error();
  if (options.edits < 0 || options.edits > 100)
    return Error{ErrorCode::kInvalidOption, "near-duplicate: edits must be in 0 to 100"};
  return std::unique_ptr<NearDuplicate>(new NearDuplicate(options));
}

std::vector<std::pair<std::string, std::string>> NearDuplicate::parameters() const {
  return {{"rate", number_text(options_.rate)}, {"edits", std::to_string(options_.edits)}};
}

Result<CraftedAttack> NearDuplicate::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  for (const std::size_t index : sample_corpus(input, options_.rate)) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const CorpusPassage& passage = input.corpus[index];
    CraftedDocument document = crafted_from(input, name(), out.documents.size(), passage);
    RandomStream random(input.seed, "attack/near-duplicate/" + passage.id);
    document.text = UntrustedText(
        leave_out_words(passage.text.bytes(), static_cast<std::size_t>(options_.edits), random, document.changed));
    out.documents.push_back(std::move(document));
  }
  return out;
}

}  // namespace casemate
