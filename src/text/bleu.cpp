#include "casemate/text/bleu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "text/lower_words.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxOrder = 4;
using NgramCounts = std::map<std::vector<std::string_view>, std::size_t>;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }

/// ASCII punctuation that 13a always sets apart: all but the apostrophe, comma, hyphen and full stop.
bool is_set_apart(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

/// A full stop or comma after something that is no digit. A match takes both characters, as the pattern of 13a does. A
/// multi-byte character before it ends in a byte that is no digit, so bytes are enough.
std::string split_before_stops(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 1 < text.size() && !is_digit(text[i]) && is_stop(text[i + 1])) {
      out += text[i];
      out += ' ';
      out += text[i + 1];
      out += ' ';
      i += 2;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string split_after_stops(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 1 < text.size() && is_stop(text[i]) && !is_digit(text[i + 1])) {
      out += ' ';
      out += text[i];
      out += ' ';
      out += text[i + 1];
      i += 2;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string split_dash_after_digit(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (is_digit(text[i]) && i + 1 < text.size() && text[i + 1] == '-') {
      out += " - ";
      ++i;
    }
  }
  return out;
}

NgramCounts ngrams(std::span<const std::string> words, std::size_t order) {
  NgramCounts out;
  for (std::size_t i = 0; i + order <= words.size(); ++i)
    ++out[std::vector<std::string_view>(words.begin() + static_cast<std::ptrdiff_t>(i),
                                        words.begin() + static_cast<std::ptrdiff_t>(i + order))];
  return out;
}

/// Length of the reference closest to `length`, the shorter on ties.
std::size_t closest_length(std::span<const std::vector<std::string>> references, std::size_t length) {
  std::size_t best = references.empty() ? 0 : references[0].size();
  const auto distance = [&](std::size_t other) { return other > length ? other - length : length - other; };
  for (const std::vector<std::string>& reference : references) {
    const std::size_t size = reference.size();
    if (distance(size) < distance(best) || (distance(size) == distance(best) && size < best)) best = size;
  }
  return best;
}

std::size_t clipped_matches(std::span<const std::string> words, std::span<const std::vector<std::string>> references,
                            std::size_t order) {
  NgramCounts most;
  for (const std::vector<std::string>& reference : references) {
    for (const auto& [ngram, count] : ngrams(reference, order)) most[ngram] = std::max(most[ngram], count);
  }
  std::size_t matches = 0;
  for (const auto& [ngram, count] : ngrams(words, order)) {
    const auto it = most.find(ngram);
    if (it != most.end()) matches += std::min(count, it->second);
  }
  return matches;
}

}  // namespace

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (std::size_t n = 0; n < kMaxOrder; ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  predicted_length += other.predicted_length;
  reference_length += other.reference_length;
  return *this;
}

std::vector<std::string> bleu_words(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string apart = " ";
  for (const char c : line) {
    if (is_set_apart(c)) {
      apart += ' ';
      apart += c;
      apart += ' ';
    } else {
      apart += c;
    }
  }
  apart += ' ';
  return split_white_space(split_dash_after_digit(split_after_stops(split_before_stops(apart))));
}

BleuCounts bleu_counts(std::string_view prediction, std::span<const std::string> references) {
  const std::vector<std::string> words = bleu_words(prediction);
  std::vector<std::vector<std::string>> expected;
  for (const std::string& reference : references) expected.push_back(bleu_words(reference));
  BleuCounts out;
  out.predicted_length = words.size();
  out.reference_length = closest_length(expected, words.size());
  for (std::size_t n = 0; n < kMaxOrder; ++n) {
    out.total[n] = words.size() > n ? words.size() - n : 0;
    out.correct[n] = clipped_matches(words, expected, n + 1);
  }
  return out;
}

BleuScore bleu(const BleuCounts& counts, bool effective_order) {
  BleuScore out;
  const auto predicted = static_cast<double>(counts.predicted_length);
  const auto reference = static_cast<double>(counts.reference_length);
  out.brevity_penalty = 1;
  if (counts.predicted_length < counts.reference_length)
    out.brevity_penalty = counts.predicted_length > 0 ? std::exp(1 - reference / predicted) : 0;
  if (std::all_of(counts.correct.begin(), counts.correct.end(), [](std::size_t c) { return c == 0; })) return out;
  double smoothing = 1;
  std::size_t order = kMaxOrder;
  for (std::size_t n = 0; n < kMaxOrder && counts.total[n] > 0; ++n) {
    if (effective_order) order = n + 1;
    const auto total = static_cast<double>(counts.total[n]);
    if (counts.correct[n] == 0) smoothing *= 2;
    out.precisions[n] =
        counts.correct[n] == 0 ? 100 / (smoothing * total) : 100 * static_cast<double>(counts.correct[n]) / total;
  }
  double sum = 0;
  for (std::size_t n = 0; n < order; ++n) {
    if (out.precisions[n] <= 0) return out;  // too short for an order that counts: the score is 0
    sum += std::log(out.precisions[n]);
  }
  out.score = out.brevity_penalty * std::exp(sum / static_cast<double>(order));
  return out;
}

double bleu1(std::string_view prediction, std::span<const std::string> references) {
  const std::vector<std::string> words = split_white_space(lower_case(prediction));
  std::vector<std::vector<std::string>> expected;
  for (const std::string& reference : references) expected.push_back(split_white_space(lower_case(reference)));
  if (words.empty()) return 0;
  const auto predicted = static_cast<double>(words.size());
  const auto reference = static_cast<double>(closest_length(expected, words.size()));
  const double penalty = predicted >= reference ? 1 : std::exp(1 - reference / predicted);
  return penalty * static_cast<double>(clipped_matches(words, expected, 1)) / predicted;
}

}  // namespace casemate
