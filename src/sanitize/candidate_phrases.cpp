#include "sanitize/candidate_phrases.h"

#include <set>

#include "casemate/text/shingles.h"

namespace casemate::sanitize {
namespace {

constexpr std::string_view kMask = "___";
/// Longer runs are lists or tables, not names: they are cut into phrases of at most so many words.
constexpr std::size_t kMaxPhraseWords = 6;

/// True where nothing but blanks without a line end lies between two words.
bool adjacent(std::string_view text, const PassageSpan& a, const PassageSpan& b) {
  if (a.passage != b.passage) return false;
  for (std::size_t i = a.span.end; i < b.span.begin; ++i) {
    if (text[i] != ' ' && text[i] != '\t') return false;
  }
  return true;
}

}  // namespace

PassageSpan ContextWords::place(const PlacedPhrase& phrase) const {
  const PassageSpan& first = words[phrase.first_word].place;
  return {first.passage, {first.span.begin, words[phrase.first_word + phrase.words - 1].place.span.end}};
}

std::string ContextWords::form(const PlacedPhrase& phrase) const {
  std::string out;
  for (std::size_t i = 0; i < phrase.words; ++i) out += (i > 0 ? " " : "") + words[phrase.first_word + i].form;
  return out;
}

ContextWords context_words(const KeywordExtractor& tagger, std::span<const ContextPassage> passages) {
  ContextWords out;
  for (std::size_t p = 0; p < passages.size(); ++p) {
    out.texts.push_back(passages[p].text.for_prompt());
    const std::string& text = out.texts.back();
    for (const TaggedToken& token : tagger.tag(text).tokens) {
      if (!is_content_word(text, token)) continue;
      std::string form = comparison_text(std::string_view(text).substr(token.span.begin, token.span.size()));
      // Symbols and dashes that the tagger takes for words carry nothing.
      if (form.empty() || comparison_words(form).empty()) continue;
      ContentWord word{{p, token.span}, std::move(form)};
      const bool goes_on = !out.phrases.empty() && out.phrases.back().words < kMaxPhraseWords &&
                           adjacent(text, out.words.back().place, word.place);
      out.words.push_back(std::move(word));
      if (goes_on) {
        ++out.phrases.back().words;
      } else {
        out.phrases.push_back({out.words.size() - 1, 1});
      }
    }
  }
  return out;
}

std::vector<PassageSpan> occurrences(const ContextWords& context, const PlacedPhrase& phrase) {
  std::vector<PassageSpan> out;
  for (std::size_t at = 0; at + phrase.words <= context.words.size();) {
    bool same = true;
    for (std::size_t i = 0; i < phrase.words && same; ++i) {
      same = context.words[at + i].form == context.words[phrase.first_word + i].form;
      if (same && i > 0) {
        const ContentWord& before = context.words[at + i - 1];
        same = before.place.passage == context.words[at + i].place.passage &&
               adjacent(context.texts[before.place.passage], before.place, context.words[at + i].place);
      }
    }
    if (same) out.push_back(context.place({at, phrase.words}));
    at += same ? phrase.words : 1;
  }
  return out;
}

std::vector<ContextPassage> without(std::span<const ContextPassage> passages, const ContextWords& context,
                                    std::span<const PassageSpan> places, Perturbation how) {
  std::vector<ContextPassage> out;
  auto next = places.begin();
  for (std::size_t p = 0; p < passages.size(); ++p) {
    const std::string& text = context.texts[p];
    std::string changed;
    std::size_t at = 0;
    for (; next != places.end() && next->passage == p; ++next) {
      changed.append(text, at, next->span.begin - at);
      at = next->span.end;
      if (how == Perturbation::kMask) {
        changed += kMask;
      } else if (at < text.size() && text[at] == ' ' && (changed.empty() || changed.back() == ' ')) {
        ++at;
      }
    }
    changed.append(text, at, std::string::npos);
    out.push_back({passages[p].title, UntrustedText(std::move(changed))});
  }
  return out;
}

}  // namespace casemate::sanitize

namespace casemate {

std::vector<ApCandidate> context_candidates(const KeywordExtractor& tagger, std::span<const ContextPassage> passages) {
  const sanitize::ContextWords context = sanitize::context_words(tagger, passages);
  std::vector<ApCandidate> out;
  std::set<std::string> seen;
  for (const sanitize::PlacedPhrase& phrase : context.phrases) {
    if (!seen.insert(context.form(phrase)).second) continue;
    const PassageSpan place = context.place(phrase);
    ApCandidate candidate;
    candidate.phrase = UntrustedText(context.texts[place.passage].substr(place.span.begin, place.span.size()));
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace casemate
