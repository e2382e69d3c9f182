// Questions about a corpus, with the passages around the one that answers.
#include <algorithm>
#include <map>

#include "casemate/eval/data_set.h"
#include "eval/data/answer_sources.h"

namespace casemate {
namespace {

constexpr std::size_t kNamed = 100;

/// Passages of a corpus by id, and those of one title in the file's order.
class Shelf {
 public:
  explicit Shelf(const DataSet& data) : data_(data) {
    for (std::size_t i = 0; i < data.passages.size(); ++i) {
      places_.emplace(data.passages[i].id, i);
      titles_[data.passages[i].title.bytes()].push_back(i);
    }
  }

  /// What answers question `number`, the best first, then its neighbours; at most `most`.
  [[nodiscard]] std::vector<PromptPassage> around(std::size_t number, std::size_t most) const {
    std::vector<std::size_t> chosen = answering(number);
    if (chosen.empty()) return {};
    add_neighbours(chosen.front(), most, chosen);
    std::vector<PromptPassage> out;
    for (const std::size_t i : chosen) {
      if (out.size() < most) out.push_back({data_.passages[i].title, data_.passages[i].text});
    }
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::size_t> answering(std::size_t number) const {
    std::vector<std::pair<int, std::size_t>> graded;
    const auto add = [&](const std::string& id, int grade) {
      const auto found = places_.find(id);
      if (found != places_.end() && grade > 0) graded.emplace_back(-grade, found->second);
    };
    if (data_.judgements.empty()) {
      add(data_.questions[number].gold_document, 1);
    } else {
      for (const auto& [id, grade] : data_.judgements[number]) add(id, grade);
    }
    std::sort(graded.begin(), graded.end());
    std::vector<std::size_t> out;
    for (const auto& [grade, place] : graded) out.push_back(place);
    return out;
  }

  /// Walks away from `place` on both sides among the passages of its title, the one before first.
  void add_neighbours(std::size_t place, std::size_t most, std::vector<std::size_t>& out) const {
    const std::vector<std::size_t>& group = titles_.at(data_.passages[place].title.bytes());
    auto after = std::lower_bound(group.begin(), group.end(), place);
    auto before = after;
    while (out.size() < most && (before != group.begin() || after != group.end())) {
      const bool back =
          before != group.begin() && (after == group.end() || place - *std::prev(before) <= *after - place);
      const std::size_t next = back ? *--before : *after++;
      if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(next);
    }
  }

  const DataSet& data_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> titles_;
};

}  // namespace

Status load_corpus_answers(const std::string& format, const std::string& path, const AnswerSetOptions& options,
                           AnswerSet& out) {
  auto data = load_data_set(format, path);
  if (!data) return data.error();
  out.digest = data->digest;
  out.broken = std::move(data->problems);
  const Shelf shelf(*data);
  AnswerSetBuilder builder(out);
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < data->questions.size(); ++i) {
    const AttackTarget& question = data->questions[i];
    AnswerItem item;
    item.id = question.query_id;
    item.question = question.query;
    item.answers = question.answers;
    item.wrong_answer = question.wrong_answer;
    item.wrong_texts = question.wrong_texts;
    item.passages = shelf.around(i, options.passages);
    const std::string problem = builder.add(std::move(item), i + 1);
    if (problem.empty() || ++left_out > kNamed) continue;
    out.broken.push_back("question " + UntrustedText(question.query_id).for_log(60) + " " + problem);
  }
  if (left_out > kNamed) out.broken.push_back(std::to_string(left_out - kNamed) + " more questions");
  draw_wrong_answers(options.seed, out);
  return {};
}

}  // namespace casemate
