// SQuAD 1.1.
#include <unordered_set>

#include "casemate/formats/reader.h"
#include "casemate/formats/squad.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

class PassageSink final : public DocumentSink {
 public:
  explicit PassageSink(DataSet& data) : data_(data) {}
  Status document(Document document) override {
    data_.passages.push_back({std::move(document.id), std::move(document.title), std::move(document.text)});
    return {};
  }
  void problem(const InputProblem& problem) override {
    ++data_.broken;
    data_.problems.push_back(problem.error.message);
  }

 private:
  DataSet& data_;
};

}  // namespace

Status load_squad(const std::string& path, DataSet& data) {
  ReadOptions options;
  options.format = Format::kSquad;
  PassageSink sink(data);
  if (const auto read = read_path(path, options, sink); !read) return read.error();
  if (data.passages.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 data.problems.empty() ? UntrustedText(path).for_log() + ": holds no passage" : data.problems.front()};
  }
  auto questions = read_squad_questions(path, options.limits);
  if (!questions) return questions.error();
  data.broken += questions->problems.size();
  for (const InputProblem& problem : questions->problems) data.problems.push_back(problem.error.message);
  std::unordered_set<std::string> ids;
  for (const CorpusPassage& passage : data.passages) ids.insert(passage.id);
  std::unordered_set<std::string> asked;
  for (SquadQuestion& question : questions->questions) {
    if (!ids.contains(question.gold_passage_id)) {
      ++data.without_gold;
    } else if (!asked.insert(question.id).second) {
      ++data.repeated;
    } else {
      data.questions.push_back({std::move(question.id), std::move(question.question),
                                std::move(question.gold_passage_id), std::move(question.answers)});
    }
  }
  return {};
}

}  // namespace casemate
