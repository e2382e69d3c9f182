#include "casemate/text/keywords.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>

#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"
#include "casemate/text/stop_words.h"
#include "text/character_kinds.h"
#include "text/english_lemmatizer.h"
#include "text/english_tokenizer.h"
#include "text/tagger_network.h"
#include "text/token_features.h"

namespace casemate {
namespace {

bool is_informative(PartOfSpeech part) {
  switch (part) {
    case PartOfSpeech::kVerb:
    case PartOfSpeech::kIntj:
    case PartOfSpeech::kAdp:
    case PartOfSpeech::kAux:
    case PartOfSpeech::kCconj:
    case PartOfSpeech::kDet:
    case PartOfSpeech::kPart:
    case PartOfSpeech::kPron:
    case PartOfSpeech::kSconj:
    case PartOfSpeech::kPunct:
    case PartOfSpeech::kSpace:
      return false;
    default:
      return true;
  }
}

/// True where more letters are of another script than Latin.
bool is_mostly_not_latin(std::string_view text) {
  std::size_t latin = 0;
  std::size_t other = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = read_code_point(text, at);
    at += next.length;
    if (!is_letter(next.value)) continue;
    UErrorCode error = U_ZERO_ERROR;
    const bool is_latin =
        next.value < 0x80 || uscript_getScript(static_cast<UChar32>(next.value), &error) == USCRIPT_LATIN;
    ++(is_latin ? latin : other);
  }
  return other > latin;
}

std::string_view slice(std::string_view text, ByteSpan span) { return text.substr(span.begin, span.size()); }

/// `text` without white space at either end, as valid UTF-8.
std::string stripped(std::string_view text) {
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint next = read_code_point(text, at);
    if (!is_white_space(next.value)) {
      begin = std::min(begin, at);
      end = at + next.length;
    }
    at += next.length;
  }
  return begin < end ? to_valid_utf8(text.substr(begin, end - begin)) : std::string();
}

TaggedText tag_unicode_words(std::string_view text) {
  TaggedText out{KeywordMethod::kUnicodeWords, {}};
  const auto spans = word_spans(text);
  out.tokens.reserve(spans.size());
  for (const ByteSpan& span : spans) {
    const std::size_t end = span.end;
    const bool blank = end < text.size() && text[end] == ' ' && (end + 1 == text.size() || text[end + 1] != ' ');
    out.tokens.push_back({span, blank, PartOfSpeech::kX, {}, lower_text(slice(text, span))});
  }
  return out;
}

}  // namespace

std::string_view keyword_method_name(KeywordMethod method) noexcept {
  return method == KeywordMethod::kEnglishTagger ? "english-tagger" : "unicode-words";
}

struct KeywordExtractor::Model {
  EnglishTokenizer tokenizer;
  TokenFeatureMaker features;
  TaggerNetwork network;
  AttributeRules rules;
  EnglishLemmatizer lemmatizer;
  std::size_t space_tag = 0;

  [[nodiscard]] TaggedText tag(std::string_view text) const;
};

TaggedText KeywordExtractor::Model::tag(std::string_view text) const {
  const std::vector<EnglishToken> tokens = tokenizer.tokenize(text);
  const std::vector<std::uint8_t> tags = network.tag(features.features(text, tokens));
  TaggedText out;
  out.tokens.reserve(tokens.size());
  std::string before;
  std::string lower = tokens.empty() ? std::string() : lower_text(slice(text, tokens[0].span));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string after = i + 1 < tokens.size() ? lower_text(slice(text, tokens[i + 1].span)) : std::string();
    WordAttributes word = rules.apply(tags[i], lower, before, after);
    std::size_t tag = tags[i];
    // White space is what it is; the network's white space that is none is something else.
    if (tokens[i].is_space) {
      tag = space_tag;
      word = {PartOfSpeech::kSpace, {}, {false, true, false}};
    } else if (tag == space_tag) {
      word.part_of_speech = PartOfSpeech::kX;
    }
    out.tokens.push_back({tokens[i].span, tokens[i].space_after, word.part_of_speech, rules.tag_name(tag),
                          lemmatizer.lemma(to_valid_utf8(slice(text, tokens[i].span)), lower, word)});
    before = std::move(lower);
    lower = std::move(after);
  }
  return out;
}

KeywordExtractor::KeywordExtractor(std::unique_ptr<Model> model) : model_(std::move(model)) {}
KeywordExtractor::~KeywordExtractor() = default;

Result<std::unique_ptr<KeywordExtractor>> KeywordExtractor::create() {
  const auto file = TaggerFile::open(english_tagger_bytes());
  if (!file) return file.error();
  auto tokenizer = EnglishTokenizer::create(*file);
  if (!tokenizer) return tokenizer.error();
  auto features = TokenFeatureMaker::create(*file);
  if (!features) return features.error();
  auto network = TaggerNetwork::create(*file);
  if (!network) return network.error();
  auto rules = AttributeRules::create(*file);
  if (!rules) return rules.error();
  auto lemmatizer = EnglishLemmatizer::create(*file);
  if (!lemmatizer) return lemmatizer.error();
  auto model = std::make_unique<Model>(Model{*std::move(tokenizer), *std::move(features), *std::move(network),
                                             *std::move(rules), *std::move(lemmatizer)});
  while (model->space_tag < model->network.tags() && model->rules.tag_name(model->space_tag) != "_SP")
    ++model->space_tag;
  if (model->space_tag == model->network.tags())
    return Error{ErrorCode::kCorrupt, "English tagger: there is no tag for white space"};
  return std::unique_ptr<KeywordExtractor>(new KeywordExtractor(std::move(model)));
}

TaggedText KeywordExtractor::tag(std::string_view text) const {
  return is_mostly_not_latin(text) ? tag_unicode_words(text) : model_->tag(text);
}

KeywordSet KeywordExtractor::extract(std::string_view text) const { return extract(text, tag(text)); }

KeywordSet KeywordExtractor::extract(std::string_view text, const TaggedText& tagged) {
  KeywordSet out{tagged.method, {}};
  std::vector<std::string>& found = out.keywords;
  found.push_back(stripped(text));
  std::string run;
  const auto end_run = [&] {
    found.push_back(stripped(run));
    run.clear();
  };
  for (std::size_t i = 0; i < tagged.tokens.size(); ++i) {
    const TaggedToken& token = tagged.tokens[i];
    if (!is_informative(token.part_of_speech)) {
      end_run();
      continue;
    }
    found.push_back(token.lemma);
    run += token.lemma;
    if (token.space_after) run += ' ';
    // Words by Unicode's rules leave punctuation out, which ends a run all the same.
    const std::size_t next = i + 1 < tagged.tokens.size() ? tagged.tokens[i + 1].span.begin : text.size();
    if (token.span.end + (token.space_after ? 1 : 0) != next) end_run();
  }
  end_run();
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (!found.empty() && found.front().empty()) found.erase(found.begin());
  return out;
}

bool is_stop_or_punctuation(std::string_view keyword) noexcept {
  constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  return is_stop_word(keyword) || kPunctuation.find(keyword) != std::string_view::npos;
}

bool is_content_word(std::string_view text, const TaggedToken& token) {
  switch (token.part_of_speech) {
    case PartOfSpeech::kDet:
    case PartOfSpeech::kPron:
    case PartOfSpeech::kAdp:
    case PartOfSpeech::kCconj:
    case PartOfSpeech::kSconj:
    case PartOfSpeech::kPart:
    case PartOfSpeech::kPunct:
    case PartOfSpeech::kAux:
    case PartOfSpeech::kSpace:
      return false;
    default:
      return !is_stop_word(lower_text(slice(text, token.span)));
  }
}

}  // namespace casemate
