#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/part_of_speech.h"
#include "text/tagger_file.h"

namespace casemate {

/// What decides whether the lemmatizer takes a word as its own base form.
struct Morphology {
  bool singular = false;
  bool base = false;  ///< an infinitive, or a positive degree
  bool present = false;
};

struct WordAttributes {
  PartOfSpeech part_of_speech = PartOfSpeech::kX;
  std::string_view lemma;  ///< "" where the rules give none
  Morphology morphology;
};

/// spaCy's attribute rules: from a tag and the words around to part of speech and irregular lemmas. The rules that ask
/// a parser are not there. Immutable, thread-safe.
class AttributeRules {
 public:
  /// `file`'s bytes must outlive the rules. Error: Corrupt.
  [[nodiscard]] static Result<AttributeRules> create(const TaggerFile& file);

  [[nodiscard]] std::string_view tag_name(std::size_t tag) const { return tags_[tag]; }
  /// Words in lower case; `before` and `after` are "" at the ends of the text.
  [[nodiscard]] WordAttributes apply(std::size_t tag, std::string_view word, std::string_view before,
                                     std::string_view after) const;

 private:
  struct Rule {
    std::string_view tag, word, before, after, part_of_speech, lemma, morphology;
    PartOfSpeech part = PartOfSpeech::kX;
  };
  std::vector<std::string_view> tags_;
  std::vector<Rule> rules_;
  std::vector<std::vector<std::size_t>> of_tag_;                            // rules that name no word
  std::unordered_map<std::string_view, std::vector<std::size_t>> of_word_;  // rules that do
};

}  // namespace casemate
