// casemate/text/keywords.h
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "casemate/text/part_of_speech.h"

namespace casemate {

/// How the words of a text were found.
enum class KeywordMethod : std::uint8_t {
  kEnglishTagger,  ///< tokens, parts of speech and lemmas of a statistical English tagger
  kUnicodeWords,   ///< words by Unicode's rules and ICU's dictionaries, because most letters are not Latin
};

/// "english-tagger" or "unicode-words".
[[nodiscard]] std::string_view keyword_method_name(KeywordMethod method) noexcept;

/// A token of a text. Under `kUnicodeWords` there are no tags (""), every part of speech is X, and the lemma is the
/// word in lower case.
struct TaggedToken {
  ByteSpan span;             ///< in the text as it was given, also where that is not valid UTF-8
  bool space_after = false;  ///< exactly one U+0020 follows that is no token of its own
  PartOfSpeech part_of_speech = PartOfSpeech::kX;
  std::string_view tag;  ///< Penn Treebank tag, or "_SP"; of static storage
  std::string lemma;     ///< valid UTF-8 (U+FFFD for broken bytes)
};

/// The tokens of a text, in order, not overlapping. White space between them is left out, but under
/// `kEnglishTagger` other white space than one blank is a token (part of speech SPACE).
struct TaggedText {
  KeywordMethod method = KeywordMethod::kEnglishTagger;
  std::vector<TaggedToken> tokens;
};

struct KeywordSet {
  KeywordMethod method = KeywordMethod::kEnglishTagger;
  std::vector<std::string> keywords;  ///< ascending by bytes, each once, none empty, valid UTF-8
};

/// Keywords of an answer as RobustRAG's keyword aggregation counts them: the whole text without white space at its
/// ends; each maximal run of informative words, as lemmas joined by the blanks that follow them; each informative
/// word's lemma. Informative are all but VERB INTJ ADP AUX CCONJ DET PART PRON SCONJ PUNCT SPACE. Stop words are NOT
/// left out, see `is_stop_or_punctuation`.
///
/// English is tagged by spaCy's small English model (tok2vec and tagger, 8-bit weights, no parser); docs/keywords.md
/// has the agreement. A text with more letters of other scripts than Latin ones is cut into words by Unicode's rules;
/// each word is informative then, and punctuation ends a run. Other languages in Latin letters go through the English
/// tagger.
///
/// Any bytes are accepted; broken UTF-8 reads as U+FFFD. Time is linear in the text's length, up to the sorting of the
/// set; the same text gives the same result on every machine, alone or among others. Immutable, thread-safe.
class KeywordExtractor {
 public:
  /// Reads the weights that are part of the library (7 to 12 ms; 4.5 MB of memory beside them). Error: Corrupt where
  /// they fail their checksum.
  [[nodiscard]] static Result<std::unique_ptr<KeywordExtractor>> create();
  ~KeywordExtractor();
  KeywordExtractor(const KeywordExtractor&) = delete;
  KeywordExtractor& operator=(const KeywordExtractor&) = delete;

  [[nodiscard]] TaggedText tag(std::string_view text) const;
  [[nodiscard]] KeywordSet extract(std::string_view text) const;
  /// The same from a text that was tagged before. `tagged` must be of `text`.
  [[nodiscard]] static KeywordSet extract(std::string_view text, const TaggedText& tagged);

 private:
  struct Model;
  explicit KeywordExtractor(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

/// True for keywords that RobustRAG's published code drops before it counts: NLTK's stop words, and members that are
/// part of !"#$%&'()*+,-./:;<=>?@[\]^_`{|}~ in this order.
[[nodiscard]] bool is_stop_or_punctuation(std::string_view keyword) noexcept;

/// True for words that carry content by themselves: no stop word (in any case), and not DET PRON ADP CCONJ SCONJ PART
/// PUNCT AUX SPACE. `text` is what the token's span refers to.
[[nodiscard]] bool is_content_word(std::string_view text, const TaggedToken& token);

}  // namespace casemate
