#include "text/attribute_rules.h"

#include <algorithm>
#include <array>

namespace casemate {
namespace {

constexpr std::array<std::string_view, 18> kNames = {"ADJ",   "ADP",   "ADV",   "AUX",  "CCONJ", "DET",
                                                     "INTJ",  "NOUN",  "NUM",   "PART", "PRON",  "PROPN",
                                                     "PUNCT", "SCONJ", "SPACE", "SYM",  "VERB",  "X"};

constexpr unsigned kSingular = 1;  // as tools/make_english_tagger.py writes them
constexpr unsigned kBase = 2;
constexpr unsigned kPresent = 4;

}  // namespace

std::string_view part_of_speech_name(PartOfSpeech part) noexcept { return kNames[static_cast<std::size_t>(part)]; }

Result<AttributeRules> AttributeRules::create(const TaggerFile& file) {
  AttributeRules out;
  const auto tags = file.table("tags", 1);
  if (!tags) return tags.error();
  for (const TaggerRecord& record : *tags) out.tags_.push_back(record[0]);
  out.of_tag_.resize(out.tags_.size());
  const auto rules = file.table("rules", 7);
  if (!rules) return rules.error();
  for (const TaggerRecord& r : *rules) {
    Rule rule{r[0], r[1], r[2], r[3], r[4], r[5], r[6]};
    if (!rule.part_of_speech.empty()) {
      const auto name = std::find(kNames.begin(), kNames.end(), rule.part_of_speech);
      if (name == kNames.end())
        return Error{ErrorCode::kCorrupt, "English tagger: unknown part of speech " + std::string(rule.part_of_speech)};
      rule.part = static_cast<PartOfSpeech>(name - kNames.begin());
    }
    const std::size_t number = out.rules_.size();
    out.rules_.push_back(rule);
    if (!rule.word.empty()) {
      out.of_word_[rule.word].push_back(number);
    } else if (const auto tag = std::find(out.tags_.begin(), out.tags_.end(), rule.tag); tag != out.tags_.end()) {
      out.of_tag_[static_cast<std::size_t>(tag - out.tags_.begin())].push_back(number);
    }
  }
  return out;
}

WordAttributes AttributeRules::apply(std::size_t tag, std::string_view word, std::string_view before,
                                     std::string_view after) const {
  // Later rules go before earlier ones. Rules of a tag alone all come before those that name a word in the table, but
  // nothing here rests on it.
  std::vector<std::size_t> matching = of_tag_[tag];
  if (const auto found = of_word_.find(word); found != of_word_.end()) {
    for (const std::size_t number : found->second) {
      const Rule& rule = rules_[number];
      if ((rule.tag.empty() || rule.tag == tags_[tag]) && (rule.before.empty() || rule.before == before) &&
          (rule.after.empty() || rule.after == after))
        matching.push_back(number);
    }
    std::sort(matching.begin(), matching.end());
  }
  WordAttributes out;
  for (const std::size_t number : matching) {
    const Rule& rule = rules_[number];
    if (!rule.part_of_speech.empty()) out.part_of_speech = rule.part;
    if (!rule.lemma.empty()) out.lemma = rule.lemma;
    if (rule.morphology.empty()) continue;
    const auto flags = static_cast<unsigned>(rule.morphology[0] - '0');
    out.morphology = {(flags & kSingular) != 0, (flags & kBase) != 0, (flags & kPresent) != 0};
  }
  return out;
}

}  // namespace casemate
