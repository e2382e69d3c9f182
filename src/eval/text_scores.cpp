#include "casemate/eval/text_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "casemate/core/utf8.h"
#include "casemate/text/answer_match.h"
#include "casemate/text/edit_distance.h"
#include "eval/json_lines.h"
#include "text/lower_words.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

void keep_better(RougeScore& best, const RougeScore& other, bool first) {
  if (first || other.f > best.f) best = other;
}

void add(RougeScore& sum, const RougeScore& one, double share) {
  sum.precision += one.precision * share;
  sum.recall += one.recall * share;
  sum.f += one.f * share;
}

void add(TextScores& sum, const TextScores& one, double share) {
  sum.exact_match += one.exact_match * share;
  sum.f1 += one.f1 * share;
  sum.bleu += one.bleu * share;
  sum.bleu1 += one.bleu1 * share;
  add(sum.rouge1, one.rouge1, share);
  add(sum.rouge2, one.rouge2, share);
  add(sum.rouge_l, one.rouge_l, share);
  sum.eed += one.eed * share;
  sum.jaccard += one.jaccard * share;
}

ordered_json rouge_json(const RougeScore& score) {
  return {{"precision", score.precision}, {"recall", score.recall}, {"f", score.f}};
}

ordered_json scores_json(const TextScores& scores) {
  return {{"exact_match", scores.exact_match},
          {"f1", scores.f1},
          {"bleu", scores.bleu},
          {"bleu1", scores.bleu1},
          {"rouge1", rouge_json(scores.rouge1)},
          {"rouge2", rouge_json(scores.rouge2)},
          {"rougeL", rouge_json(scores.rouge_l)},
          {"eed", scores.eed},
          {"jaccard", scores.jaccard}};
}

/// Fills `pair`; what is wrong, if anything.
std::string fill(const nlohmann::json& record, std::size_t line, TextPair& pair) {
  const auto id = record.find("id");
  pair.id = id == record.end() || id->is_null() ? std::to_string(line)
            : id->is_string()                   ? id->get<std::string>()
                                                : id->dump();
  const auto prediction = record.find("prediction");
  if (prediction == record.end() || !prediction->is_string()) return "field \"prediction\" is missing or not text";
  pair.prediction = prediction->get<std::string>();
  const bool several = record.contains("references");
  const auto given = record.find(several ? "references" : "reference");
  if (given == record.end()) return "field \"references\" is missing";
  const nlohmann::json list = given->is_array() ? *given : nlohmann::json::array({*given});
  for (const auto& reference : list) {
    if (!reference.is_string()) return "field \"references\" must be a list of texts";
    pair.references.push_back(reference.get<std::string>());
  }
  if (pair.references.empty()) return "field \"references\" is empty: every pair needs at least one";
  return {};
}

}  // namespace

TextScores score_text(const TextPair& pair) {
  TextScores out;
  out.bleu = bleu(bleu_counts(pair.prediction, pair.references), true).score;
  out.bleu1 = bleu1(pair.prediction, pair.references);
  const auto words = rouge_words(pair.prediction);
  const auto lower = split_white_space(lower_case(pair.prediction));
  for (std::size_t i = 0; i < pair.references.size(); ++i) {
    const std::string& reference = pair.references[i];
    out.exact_match = std::max(out.exact_match, exact_match(pair.prediction, reference));
    out.f1 = std::max(out.f1, token_f1(pair.prediction, reference));
    const auto expected = rouge_words(reference);
    keep_better(out.rouge1, rouge_n(words, expected, 1), i == 0);
    keep_better(out.rouge2, rouge_n(words, expected, 2), i == 0);
    keep_better(out.rouge_l, rouge_l(words, expected), i == 0);
    out.eed = std::max(out.eed, edit_similarity(pair.prediction, reference));
    out.jaccard = std::max(out.jaccard, jaccard(lower, split_white_space(lower_case(reference))));
  }
  return out;
}

TextReport score_texts(std::span<const TextPair> pairs) {
  TextReport out;
  BleuCounts corpus;
  for (const TextPair& pair : pairs) {
    out.pairs.push_back(score_text(pair));
    corpus += bleu_counts(pair.prediction, pair.references);
    add(out.mean, out.pairs.back(), 1.0 / static_cast<double>(pairs.size()));
  }
  out.bleu_corpus = bleu(corpus, false).score;
  return out;
}

Result<std::vector<TextPair>> read_text_pairs(const std::string& path) {
  std::vector<TextPair> out;
  const Status read = each_json_line(
      path, [&](const nlohmann::json& record, std::size_t line) { return fill(record, line, out.emplace_back()); });
  if (!read) return read.error();
  return out;
}

std::string to_json(std::span<const TextPair> pairs, const TextReport& report) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ordered_json entry = {{"id", to_valid_utf8(pairs[i].id)}};
    entry.update(scores_json(report.pairs[i]));
    list.push_back(std::move(entry));
  }
  return ordered_json{
      {"pairs", std::move(list)}, {"means", scores_json(report.mean)}, {"bleu_corpus", report.bleu_corpus}}
      .dump();
}

double embedding_cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0;
  double norm_a = 0;
  double norm_b = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    norm_a += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    norm_b += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return norm_a > 0 && norm_b > 0 ? product / std::sqrt(norm_a * norm_b) : 0;
}

void ChunkRecovery::add(const std::string& chunk, double edit_similarity, double subsequence_recall) {
  auto& best = best_[chunk];
  best.first = std::max(best.first, edit_similarity);
  best.second = std::max(best.second, subsequence_recall);
}

double ChunkRecovery::rate_by_edits(double threshold) const {
  const auto reached = std::count_if(best_.begin(), best_.end(),
                                     [threshold](const auto& each) { return each.second.first >= threshold; });
  return best_.empty() ? 0 : static_cast<double>(reached) / static_cast<double>(best_.size());
}

double ChunkRecovery::rate_by_subsequence(double threshold) const {
  const auto reached = std::count_if(best_.begin(), best_.end(),
                                     [threshold](const auto& each) { return each.second.second >= threshold; });
  return best_.empty() ? 0 : static_cast<double>(reached) / static_cast<double>(best_.size());
}

}  // namespace casemate
