#include "casemate/text/content_difference.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "casemate/core/utf8.h"
#include "casemate/text/shingles.h"
#include "text/comparison_words.h"

namespace casemate {
namespace {

// Sorted, for binary search.
constexpr std::array<std::string_view, 17> kNegations = {
    "barely", "cannot", "hardly",  "neither", "never",  "no",       "nobody", "non",    "none",
    "nor",    "not",    "nothing", "nowhere", "rarely", "scarcely", "seldom", "without"};
constexpr std::array<std::string_view, 66> kFunctionWords = {
    "a",    "also", "am",    "an",    "and",  "are",   "as",    "at",    "be",   "been", "being", "but", "by", "did",
    "do",   "does", "for",   "from",  "had",  "has",   "have",  "he",    "her",  "here", "him",   "his", "i",  "if",
    "in",   "into", "is",    "it",    "its",  "me",    "my",    "of",    "on",   "or",   "our",   "she", "so", "such",
    "than", "that", "the",   "their", "them", "then",  "there", "these", "they", "this", "those", "to",  "us", "was",
    "we",   "were", "which", "who",   "whom", "whose", "will",  "with",  "you",  "your"};

struct Word {
  std::string written;
  std::string folded;
  DifferenceKind kind = DifferenceKind::kOther;
};

bool has(std::string_view word, int8_t (*holds)(UChar32)) {
  for (std::size_t at = 0; at < word.size();) {
    const CodePoint c = read_code_point(word, at);
    if (c.value != kInvalidCodePoint && holds(static_cast<UChar32>(c.value)) != 0) return true;
    at += c.length;
  }
  return false;
}

DifferenceKind kind_of(const Word& word) {
  if (has(word.folded, u_isdigit)) return DifferenceKind::kNumber;
  if (word.folded.ends_with("n't") || std::binary_search(kNegations.begin(), kNegations.end(), word.folded))
    return DifferenceKind::kNegation;
  return has(word.written, u_isupper) ? DifferenceKind::kName : DifferenceKind::kOther;
}

std::vector<Word> content_words(std::string_view text) {
  std::vector<Word> out;
  for (std::string& written : comparison_words(compatible_text(text))) {
    Word word;
    word.folded = folded_word(written);
    if (std::binary_search(kFunctionWords.begin(), kFunctionWords.end(), word.folded)) continue;
    word.written = std::move(written);
    word.kind = kind_of(word);
    out.push_back(std::move(word));
  }
  return out;
}

/// Adds a difference for each word of `more` beyond those of `less`.
void add_excess(const std::vector<Word>& more, const std::vector<Word>& less, bool in_copy,
                std::vector<ContentDifference>& out) {
  std::map<std::string_view, std::size_t> left;
  for (const Word& word : less) ++left[word.folded];
  std::map<std::string_view, bool> told;
  for (const Word& word : more) {
    std::size_t& count = left[word.folded];
    if (count > 0) {
      --count;
    } else if (!std::exchange(told[word.folded], true)) {
      out.push_back({word.kind, word.written, in_copy});
    }
  }
}

}  // namespace

std::string_view difference_kind_name(DifferenceKind kind) noexcept {
  constexpr std::array<std::string_view, 5> kNames = {"number", "negation", "name", "word", "order"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<ContentDifference> content_differences(std::string_view original, std::string_view copy, bool copy_is_part,
                                                   std::size_t max_differences) {
  const std::vector<Word> before = content_words(original);
  const std::vector<Word> after = content_words(copy);
  std::vector<ContentDifference> out;
  if (!copy_is_part) add_excess(before, after, false, out);
  add_excess(after, before, true, out);
  if (out.empty() && !copy_is_part) {
    const auto same = [](const Word& a, const Word& b) { return a.folded == b.folded; };
    const auto moved = std::mismatch(after.begin(), after.end(), before.begin(), before.end(), same).first;
    if (moved != after.end()) out.push_back({DifferenceKind::kOrder, moved->written, true});
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  if (out.size() > max_differences) out.resize(max_differences);
  return out;
}

std::string describe(std::span<const ContentDifference> differences) {
  std::string out;
  for (std::size_t first = 0; first < differences.size();) {
    const DifferenceKind kind = differences[first].kind;
    std::string before;
    std::string after;
    for (; first < differences.size() && differences[first].kind == kind; ++first) {
      std::string& side = differences[first].in_copy ? after : before;
      side += (side.empty() ? "" : ", ") + differences[first].word;
    }
    out += (out.empty() ? "" : "; ") + std::string(difference_kind_name(kind));
    if (kind == DifferenceKind::kOrder) {
      out += " from " + after;
    } else if (before.empty() || after.empty()) {
      out += before.empty() ? " + " + after : " - " + before;
    } else {
      out += " " + before + " -> " + after;
    }
  }
  return out;
}

}  // namespace casemate
