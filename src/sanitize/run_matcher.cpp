#include "sanitize/run_matcher.h"

#include <algorithm>

#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"

namespace casemate::sanitize {
namespace {

constexpr std::size_t kMostLetters = 1'000'000;
/// A text that repeats itself has one piece in very many places; so many are followed.
constexpr std::size_t kMostPlaces = 16;
constexpr std::size_t kMostMatches = 64;

std::uint64_t hash_of(std::u32string_view piece) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char32_t letter : piece) hash = (hash ^ letter) * 1099511628211ULL;
  return hash;
}

/// Read in either direction. One character may read as several letters ("m" as "rn"), so one is not the other reversed.
struct Word {
  std::u32string letters;
  std::u32string backwards;
};

std::vector<Word> words_of(std::string_view text, const Skeleton& skeleton) {
  std::vector<Word> out;
  std::size_t letters = 0;
  std::size_t from = 0;
  const auto read = [&](std::string_view piece) {
    Word word;
    for (std::size_t at = 0; at < piece.size();) {
      const CodePoint point = read_code_point(piece, at);
      const std::u32string read_as = skeleton.of(point.value);
      word.letters += read_as;
      word.backwards.append(read_as.rbegin(), read_as.rend());
      at += point.length;
    }
    letters += word.letters.size();
    // Built in reverse of the reverse, so that a very long word costs linear time.
    std::reverse(word.backwards.begin(), word.backwards.end());
    if (!word.letters.empty()) out.push_back(std::move(word));
  };
  for (const ByteSpan& span : word_spans(text)) {
    if (letters >= kMostLetters) return out;
    // Symbols that read as letters stand outside of words.
    read(text.substr(from, span.begin - from));
    read(text.substr(span.begin, span.size()));
    from = span.end;
  }
  read(text.substr(from));
  return out;
}

SoughtText joined(const std::vector<Word>& words, std::size_t passage, std::string_view form) {
  SoughtText out;
  out.passage = passage;
  out.form = form;
  const bool from_the_end = form != "plain";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t own = from_the_end ? words.size() - 1 - i : i;
    const std::u32string& letters = form == "reversed letters" ? words[own].backwards : words[own].letters;
    out.letters += letters;
    out.word.insert(out.word.end(), letters.size(), static_cast<std::uint32_t>(i));
    out.own_word.push_back(static_cast<std::uint32_t>(own));
  }
  return out;
}

}  // namespace

void SoughtTexts::add_passage(std::string_view text, std::size_t number, const Skeleton& skeleton) {
  const std::vector<Word> words = words_of(text, skeleton);
  if (passage_words_.size() <= number) passage_words_.resize(number + 1, 0);
  passage_words_[number] = words.size();
  for (const std::string_view form : {"plain", "reversed words", "reversed letters"}) add(joined(words, number, form));
}

void SoughtTexts::add_canary(std::string_view text, std::size_t number, const Skeleton& skeleton) {
  const std::vector<Word> words = words_of(text, skeleton);
  for (const std::string_view form : {"plain", "reversed letters"}) {
    SoughtText canary = joined(words, number, form);
    canary.canary = true;
    if (canary.letters.size() >= kPiece) add(std::move(canary));
  }
}

void SoughtTexts::add(SoughtText text) {
  const auto number = static_cast<std::uint32_t>(texts_.size());
  for (std::size_t end = kPiece; end <= text.letters.size(); ++end) {
    auto& places = index_[hash_of(std::u32string_view(text.letters).substr(end - kPiece, kPiece))];
    if (places.size() < kMostPlaces) places.push_back({number, static_cast<std::uint32_t>(end)});
  }
  texts_.push_back(std::move(text));
}

const std::vector<SoughtTexts::Place>& SoughtTexts::places(std::u32string_view recent) const {
  static const std::vector<Place> none;
  if (recent.size() < kPiece) return none;
  const auto found = index_.find(hash_of(recent.substr(recent.size() - kPiece)));
  return found == index_.end() ? none : found->second;
}

void RunMatcher::push(char32_t letter) {
  recent_ += letter;
  if (recent_.size() > SoughtTexts::kPiece) recent_.erase(0, 1);
  std::erase_if(matches_, [&](RunningMatch& match) {
    const std::u32string& letters = sought_.texts()[match.text].letters;
    if (match.end >= letters.size() || letters[match.end] != letter) return true;
    ++match.end;
    return false;
  });
  for (const SoughtTexts::Place& place : sought_.places(recent_)) {
    const std::u32string& letters = sought_.texts()[place.text].letters;
    const bool known = std::any_of(matches_.begin(), matches_.end(), [&](const RunningMatch& match) {
      return match.text == place.text && match.end == place.end;
    });
    if (known || matches_.size() >= kMostMatches) continue;
    // Pieces with the same hash may differ.
    if (std::u32string_view(letters).substr(place.end - SoughtTexts::kPiece, SoughtTexts::kPiece) != recent_) continue;
    matches_.push_back({place.text, place.end - SoughtTexts::kPiece, place.end});
  }
}

void RunMatcher::reset() {
  recent_.clear();
  matches_.clear();
}

RunMatcher::Words RunMatcher::words(const RunningMatch& match) const {
  const std::vector<std::uint32_t>& word = sought_.texts()[match.text].word;
  std::size_t first = word[match.begin];
  if (match.begin > 0 && word[match.begin - 1] == first) ++first;
  std::size_t behind = std::size_t{word[match.end - 1]} + 1;
  if (match.end < word.size() && word[match.end] == word[match.end - 1]) --behind;
  return {first, behind > first ? behind - first : 0};
}

std::size_t RunMatcher::letters_beyond(const RunningMatch& match, std::size_t count) const {
  const std::vector<std::uint32_t>& word = sought_.texts()[match.text].word;
  const std::size_t last = words(match).first + count;  // the first word that is too much
  std::size_t beyond = 0;
  while (beyond < match.letters() && word[match.end - 1 - beyond] >= last) ++beyond;
  return beyond;
}

}  // namespace casemate::sanitize
