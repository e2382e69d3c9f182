#include "casemate/sanitize/facts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"
#include "sanitize/shared_words.h"

namespace casemate {
namespace {

using sanitize::formed_words;
using sanitize::FormedWord;
using sanitize::SharedWords;

constexpr std::size_t kMostSentences = 64;
/// A flood of copied sentences must not become a flood of model calls; the bounds hold without rewriting too.
constexpr int kMostRewritings = 3;

/// Without list marks, quotes and blanks at the ends.
std::string_view stripped(std::string_view line) {
  constexpr std::string_view kMarks = " \t\r\n-*\"'`";
  const std::size_t begin = line.find_first_not_of(kMarks);
  if (begin == std::string_view::npos) return {};
  line = line.substr(begin, line.find_last_not_of(kMarks) - begin + 1);
  std::size_t digits = 0;
  while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') ++digits;
  if (digits > 0 && digits + 1 < line.size() && (line[digits] == '.' || line[digits] == ')') && line[digits + 1] == ' ')
    return stripped(line.substr(digits + 2));
  return line;
}

std::vector<std::string> sentences_of(const std::string& written) {
  std::vector<std::string> out;
  for (const ByteSpan& span : sentence_spans(written)) {
    std::string_view rest = std::string_view(written).substr(span.begin, span.size());
    while (!rest.empty() && out.size() < kMostSentences) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (const std::string_view line = stripped(rest.substr(0, end)); !line.empty()) out.emplace_back(line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return out;
}

/// At least half of the words of one keyword stand in the text.
bool names_keyword(std::span<const FormedWord> words, std::span<const std::string> keywords) {
  if (keywords.empty()) return true;
  std::set<std::string_view> present;
  for (const FormedWord& word : words) present.insert(word.form);
  return std::any_of(keywords.begin(), keywords.end(), [&](const std::string& keyword) {
    const auto wanted = formed_words(keyword);
    const auto found = std::count_if(wanted.begin(), wanted.end(),
                                     [&](const FormedWord& word) { return present.contains(word.form); });
    return !wanted.empty() && 2 * static_cast<std::size_t>(found) >= wanted.size();
  });
}

class Bounding {
 public:
  Bounding(std::span<const std::string> keywords, std::span<const std::string> sources, const FactBounds& bounds,
           const RewriteFact& rewrite)
      : keywords_(keywords), bounds_(bounds), rewrite_(rewrite), shared_(sources) {
    std::size_t length = 0;
    for (const std::string& source : sources) length += count_code_points(source);
    room_ = std::min(static_cast<std::size_t>(bounds.max_characters),
                     static_cast<std::size_t>(std::floor(bounds.max_share * static_cast<double>(length))));
  }

  Status take(std::string sentence) {
    if (!names_keyword(formed_words(sentence), keywords_)) return drop(std::move(sentence), FactFate::kNoKeyword);
    FactFate fate = FactFate::kKept;
    if (too_long_a_run(sentence) && rewrite_ && rewritings_ < kMostRewritings) {
      ++rewritings_;
      auto other = rewrite_(UntrustedText(sentence));
      if (!other) return other.error();
      const auto lines = sentences_of(other->for_prompt());
      // A rewriting that lost the keyword, or copies a longer piece, is no improvement.
      if (!lines.empty() && names_keyword(formed_words(lines[0]), keywords_)) {
        sentence = lines[0];
        fate = FactFate::kRewritten;
      }
    }
    while (too_long_a_run(sentence)) {
      std::string cut = cut_run(sentence);
      if (cut.size() >= sentence.size()) return drop(std::move(sentence), FactFate::kNoKeyword);
      sentence = std::move(cut);
      fate = FactFate::kCut;
    }
    return fit(std::move(sentence), fate);
  }

  std::vector<FactRecord> take_records() && { return std::move(records_); }

 private:
  bool too_long_a_run(const std::string& text) const { return shared_.longest_run(formed_words(text)).words > limit(); }
  std::size_t limit() const { return static_cast<std::size_t>(bounds_.max_shared_words); }

  /// Only the piece of the longest run that holds most of the keywords is left of the sentence.
  std::string cut_run(const std::string& text) const {
    const auto words = formed_words(text);
    const SharedWords::Run run = shared_.longest_run(words);
    std::set<std::string> wanted;
    for (const std::string& keyword : keywords_) {
      for (const FormedWord& word : formed_words(keyword)) wanted.insert(word.form);
    }
    std::size_t best = run.first;
    std::size_t most = 0;
    for (std::size_t first = run.first; first + limit() <= run.first + run.words; ++first) {
      std::size_t hits = 0;
      for (std::size_t i = 0; i < limit(); ++i) hits += wanted.contains(words[first + i].form) ? 1U : 0U;
      // The latest of equals: what is said of a name mostly stands before it in what is left.
      if (hits > 0 && hits >= most) {
        best = first;
        most = hits;
      }
    }
    return text.substr(words[best].span.begin, words[best + limit() - 1].span.end - words[best].span.begin);
  }

  Status fit(std::string sentence, FactFate fate) {
    const auto words = formed_words(sentence);
    std::string form;
    for (const FormedWord& word : words) form += word.form + " ";
    if (!seen_.insert(form).second) return drop(std::move(sentence), FactFate::kRepeated);
    const std::size_t length = count_code_points(sentence);
    if (used_ + length > room_) {
      if (used_ > 0) return drop(std::move(sentence), FactFate::kTooLong);
      std::size_t end = 0;
      for (const FormedWord& word : words) {
        if (count_code_points(std::string_view(sentence).substr(0, word.span.end)) <= room_) end = word.span.end;
      }
      std::string cut = sentence.substr(0, end);
      if (cut.empty() || !names_keyword(formed_words(cut), keywords_))
        return drop(std::move(sentence), FactFate::kTooLong);
      sentence = std::move(cut);
      fate = FactFate::kCut;
    }
    const std::size_t nearest = shared_.nearest(formed_words(sentence));
    // Two copied pieces may stand in a row in the passage too; whoever joins facts must get no longer run by that.
    const std::string all = joined_ + " " + sentence;
    const std::string own = joined_of_[nearest] + " " + sentence;
    if (too_long_a_run(all) || too_long_a_run(own)) return drop(std::move(sentence), FactFate::kTooLong);
    joined_ = all;
    joined_of_[nearest] = own;
    used_ += count_code_points(sentence);
    records_.push_back({UntrustedText(std::move(sentence)), fate, nearest});
    return {};
  }

  Status drop(std::string sentence, FactFate fate) {
    const std::size_t nearest = shared_.nearest(formed_words(sentence));
    records_.push_back({UntrustedText(std::move(sentence)), fate, nearest});
    return {};
  }

  std::span<const std::string> keywords_;
  FactBounds bounds_;
  const RewriteFact& rewrite_;
  SharedWords shared_;
  std::set<std::string> seen_;
  std::string joined_;                            ///< all that goes on so far
  std::map<std::size_t, std::string> joined_of_;  ///< by the passage that it is nearest to
  std::size_t room_ = 0;
  std::size_t used_ = 0;
  int rewritings_ = 0;
  std::vector<FactRecord> records_;
};

}  // namespace

Status validate(const FactBounds& bounds) {
  if (bounds.max_characters < 1 || bounds.max_characters > 1'000'000)
    return Error{ErrorCode::kInvalidOption,
                 "max_characters is " + std::to_string(bounds.max_characters) + "; it must be in [1, 1000000]"};
  if (!(bounds.max_share > 0 && bounds.max_share <= 1))
    return Error{ErrorCode::kInvalidOption,
                 "max_share is " + std::to_string(bounds.max_share) + "; it must be above 0 and at most 1"};
  if (bounds.max_shared_words < 1 || bounds.max_shared_words > 10'000)
    return Error{ErrorCode::kInvalidOption,
                 "max_shared_words is " + std::to_string(bounds.max_shared_words) + "; it must be in [1, 10000]"};
  return {};
}

std::string_view fact_fate_name(FactFate fate) noexcept {
  switch (fate) {
    case FactFate::kKept:
      return "kept";
    case FactFate::kRewritten:
      return "rewritten";
    case FactFate::kCut:
      return "cut";
    case FactFate::kNoKeyword:
      return "no-keyword";
    case FactFate::kTooLong:
      return "too-long";
    case FactFate::kRepeated:
      return "repeated";
  }
  return "kept";
}

Result<std::vector<FactRecord>> bound_facts(std::string_view written, std::span<const std::string> keywords,
                                            std::span<const std::string> sources, const FactBounds& bounds,
                                            const RewriteFact& rewrite) {
  if (Status good = validate(bounds); !good) return good.error();
  Bounding bounding(keywords, sources, bounds, rewrite);
  // The form that prompts have: broken UTF-8 and controls are gone from here on.
  for (std::string& sentence : sentences_of(UntrustedText(std::string(written)).for_prompt())) {
    if (Status taken = bounding.take(std::move(sentence)); !taken) return taken.error();
  }
  return std::move(bounding).take_records();
}

std::size_t longest_shared_run(std::string_view text, std::span<const std::string> sources) {
  return SharedWords(sources).longest_run(formed_words(text)).words;
}

}  // namespace casemate
