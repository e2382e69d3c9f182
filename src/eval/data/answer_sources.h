// eval/data/answer_sources.h
#pragma once

#include <set>
#include <string>

#include "casemate/eval/answer_set.h"

namespace casemate {

/// Fills a set item by item.
class AnswerSetBuilder {
 public:
  explicit AnswerSetBuilder(AnswerSet& out) : out_(out) {}
  /// The record with this number, counted from 1: its id is the number where it is empty, and is numbered where it
  /// stood before. Returns what is wrong with it, which leaves it out.
  std::string add(AnswerItem item, std::size_t number);

 private:
  AnswerSet& out_;
  std::set<std::string> ids_;
};

// One function a form; each fills items, what is broken, and the digest. Error: as `load_answer_set`.
[[nodiscard]] Status load_realtimeqa_answers(const std::string& path, const AnswerSetOptions& options, AnswerSet& out);
[[nodiscard]] Status load_jsonl_answers(const std::string& path, const AnswerSetOptions& options, AnswerSet& out);
[[nodiscard]] Status load_musique_answers(const std::string& path, const AnswerSetOptions& options, AnswerSet& out);
/// Of a format of `data_formats` with passages and questions.
[[nodiscard]] Status load_corpus_answers(const std::string& format, const std::string& path,
                                         const AnswerSetOptions& options, AnswerSet& out);

/// Gives every item without a wrong answer one that is right for another item, under the seed; none where there is
/// none.
void draw_wrong_answers(std::uint64_t seed, AnswerSet& out);

}  // namespace casemate
