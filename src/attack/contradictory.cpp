#include <algorithm>
#include <map>
#include <optional>

#include "attack/corpus_sample.h"
#include "attack/words.h"
#include "attack/wrong_answers.h"
#include "casemate/attack/corpus_poisons.h"

namespace casemate {
namespace {

bool is_word_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Where `part` stands in `text` as whole words.
std::vector<std::size_t> occurrences(std::string_view text, std::string_view part) {
  std::vector<std::size_t> found;
  if (part.empty()) return found;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    const bool cuts_before = at > 0 && is_word_byte(text[at - 1]) && is_word_byte(text[at]);
    const bool cuts_after = end < text.size() && is_word_byte(text[end]) && is_word_byte(text[end - 1]);
    const bool overlaps = !found.empty() && found.back() + part.size() > at;
    if (!cuts_before && !cuts_after && !overlaps) found.push_back(at);
  }
  return found;
}

void replace_all(CraftedDocument& document, std::string_view text, std::string_view right, std::string_view wrong) {
  std::string out;
  std::size_t from = 0;
  for (const std::size_t at : occurrences(text, right)) {
    out += text.substr(from, at - from);
    const std::size_t begin = out.size();
    out += wrong;
    document.changed.push_back(in_characters(out, begin, out.size()));
    from = at + right.size();
  }
  out += text.substr(from);
  document.text = UntrustedText(std::move(out));
}

/// Swaps an answer of one of `own` targets. False where none stands in the text, or no wrong one is found.
bool contradict(CraftedDocument& document, const std::string& text, const std::vector<const AttackTarget*>& own,
                const WrongAnswers& pool, RandomStream& random) {
  for (const std::size_t index : draw_indices(random, own.size(), own.size())) {
    const AttackTarget& target = *own[index];
    for (const UntrustedText& answer : target.answers) {
      const std::string& right = answer.bytes();
      if (occurrences(text, right).empty()) continue;
      const auto wrong = pool.wrong_for(target, right, text, random);
      if (!wrong) continue;
      replace_all(document, text, right, *wrong);
      document.target_queries = {target.query_id};
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Contradictory>> Contradictory::create(const ContradictoryOptions& options) {
  if (Status good = check_rate("contradictory", options.rate); !good) return good.error();
  return std::unique_ptr<Contradictory>(new Contradictory(options));
}

std::vector<std::pair<std::string, std::string>> Contradictory::parameters() const {
  return {{"rate", number_text(options_.rate)}};
}

Result<CraftedAttack> Contradictory::craft(const AttackInput& input, std::stop_token stop) const {
  CraftedAttack out;
  std::map<std::string_view, std::vector<const AttackTarget*>> by_passage;
  for (const AttackTarget& target : input.targets) by_passage[target.gold_document].push_back(&target);
  const WrongAnswers pool(input.targets);
  for (const std::size_t index : sample_corpus(input, options_.rate)) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped"};
    const CorpusPassage& passage = input.corpus[index];
    CraftedDocument document = crafted_from(input, name(), out.documents.size(), passage);
    RandomStream random(input.seed, "attack/contradictory/" + passage.id);
    const auto own = by_passage.find(passage.id);
    if (own == by_passage.end() || !contradict(document, passage.text.bytes(), own->second, pool, random)) {
      document.text = passage.text;
      document.fell_back = true;
      document.note = own == by_passage.end() ? "no target is answered by this passage: a plain copy"
                                              : "no answer stands in this passage: a plain copy";
      ++out.fell_back;
    }
    out.documents.push_back(std::move(document));
  }
  return out;
}

}  // namespace casemate
