#include "text/english_lemmatizer.h"

#include <algorithm>
#include <array>
#include <span>

#include "casemate/core/utf8.h"
#include "text/character_kinds.h"

namespace casemate {
namespace {

struct Ending {
  std::string_view old;
  std::string_view with;
};

// The rules of the model's lemma table, in its order.
constexpr std::array<Ending, 9> kNoun = {{{"s", ""},
                                          {"ses", "s"},
                                          {"ves", "f"},
                                          {"xes", "x"},
                                          {"zes", "z"},
                                          {"ches", "ch"},
                                          {"shes", "sh"},
                                          {"men", "man"},
                                          {"ies", "y"}}};
constexpr std::array<Ending, 8> kVerb = {
    {{"s", ""}, {"ies", "y"}, {"es", "e"}, {"es", ""}, {"ed", "e"}, {"ed", ""}, {"ing", "e"}, {"ing", ""}}};
constexpr std::array<Ending, 4> kAdjective = {{{"er", ""}, {"est", ""}, {"er", "e"}, {"est", "e"}}};
constexpr std::array<Ending, 1> kAdverb = {{{"", ""}}};
constexpr std::array<Ending, 4> kPunctuation = {{{"“", "\""}, {"”", "\""}, {"‘", "'"}, {"’", "'"}}};

bool all_letters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = read_code_point(text, at);
    if (!is_letter(next.value)) return false;
    at += next.length;
  }
  return !text.empty();
}

bool is_base_form(const WordAttributes& attributes) {
  const Morphology& morphology = attributes.morphology;
  return morphology.base || (attributes.part_of_speech == PartOfSpeech::kNoun && morphology.singular) ||
         (attributes.part_of_speech == PartOfSpeech::kVerb && morphology.present);
}

}  // namespace

Result<EnglishLemmatizer::Paradigm> EnglishLemmatizer::read(const TaggerFile& file, const std::string& part,
                                                            bool has_index) {
  Paradigm paradigm;
  const auto exceptions = file.table("except_" + part, 2);
  if (!exceptions) return exceptions.error();
  paradigm.exceptions.reserve(exceptions->size());
  for (const TaggerRecord& record : *exceptions) paradigm.exceptions.emplace(record[0], record[1]);
  if (!has_index) return paradigm;
  const auto index = file.table("index_" + part, 1);
  if (!index) return index.error();
  paradigm.index.reserve(index->size());
  for (const TaggerRecord& record : *index) paradigm.index.insert(record[0]);
  return paradigm;
}

Result<EnglishLemmatizer> EnglishLemmatizer::create(const TaggerFile& file) {
  EnglishLemmatizer lemmatizer;
  const std::pair<const char*, Paradigm*> paradigms[] = {{"noun", &lemmatizer.noun_},
                                                         {"verb", &lemmatizer.verb_},
                                                         {"adj", &lemmatizer.adjective_},
                                                         {"adv", &lemmatizer.adverb_}};
  for (const auto& [part, target] : paradigms) {
    auto paradigm = read(file, part, target != &lemmatizer.adverb_);
    if (!paradigm) return paradigm.error();
    *target = *std::move(paradigm);
  }
  return lemmatizer;
}

std::string EnglishLemmatizer::lemma(std::string_view word, std::string_view lower,
                                     const WordAttributes& attributes) const {
  if (!attributes.lemma.empty()) return std::string(attributes.lemma);
  if (is_base_form(attributes)) return std::string(lower);
  const Paradigm* paradigm = nullptr;
  std::span<const Ending> endings;
  switch (attributes.part_of_speech) {
    case PartOfSpeech::kPropn:
      return std::string(word);
    case PartOfSpeech::kNoun:
      paradigm = &noun_, endings = kNoun;
      break;
    case PartOfSpeech::kVerb:
      paradigm = &verb_, endings = kVerb;
      break;
    case PartOfSpeech::kAdj:
      paradigm = &adjective_, endings = kAdjective;
      break;
    case PartOfSpeech::kAdv:
      paradigm = &adverb_, endings = kAdverb;
      break;
    case PartOfSpeech::kPunct:
      endings = kPunctuation;
      break;
    default:
      return std::string(lower);
  }
  // An exception goes first, then the last known word, then the first form that is no plain word, then the
  // first unknown form; a word that no rule fits keeps its case.
  if (paradigm != nullptr) {
    const auto exception = paradigm->exceptions.find(lower);
    if (exception != paradigm->exceptions.end()) return std::string(exception->second);
  }
  std::string known, other, unknown;
  for (const auto& [old, with] : endings) {
    if (!lower.ends_with(old)) continue;
    std::string form = std::string(lower.substr(0, lower.size() - old.size())) + std::string(with);
    if (form.empty()) continue;
    if (paradigm != nullptr && paradigm->index.contains(form)) {
      known = std::move(form);
    } else if (!all_letters(form)) {
      if (other.empty()) other = std::move(form);
    } else if (unknown.empty()) {
      unknown = std::move(form);
    }
  }
  if (!known.empty()) return known;
  if (!other.empty()) return other;
  return unknown.empty() ? std::string(word) : unknown;
}

}  // namespace casemate
