#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "casemate/core/status.h"
#include "text/attribute_rules.h"
#include "text/tagger_file.h"

namespace casemate {

/// spaCy's rule lemmatizer for English: endings taken off, an index of known words to choose among the forms, and a
/// table of exceptions. Immutable, thread-safe.
class EnglishLemmatizer {
 public:
  /// `file`'s bytes must outlive the lemmatizer.
  [[nodiscard]] static Result<EnglishLemmatizer> create(const TaggerFile& file);
  /// The lemma of `word` (valid UTF-8), whose form in lower case is `lower`.
  [[nodiscard]] std::string lemma(std::string_view word, std::string_view lower,
                                  const WordAttributes& attributes) const;

 private:
  struct Paradigm {
    std::unordered_map<std::string_view, std::string_view> exceptions;
    std::unordered_set<std::string_view> index;
  };
  [[nodiscard]] static Result<Paradigm> read(const TaggerFile& file, const std::string& part, bool has_index);

  Paradigm noun_, verb_, adjective_, adverb_;
};

}  // namespace casemate
