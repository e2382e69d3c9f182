#include "casemate/eval/data_set.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "casemate/core/random.h"
#include "casemate/formats/reader.h"
#include "casemate/formats/squad.h"

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
    if (first.empty()) first = problem.error.message;
  }
  std::string first;

 private:
  DataSet& data_;
};

Digest digest_of(const DataSet& data) {
  Hasher hasher(Hasher::Kind::kBlake2b);
  const auto field = [&hasher](std::string_view text) {
    hasher.update(std::to_string(text.size()) + ":");
    hasher.update(text);
  };
  for (const CorpusPassage& passage : data.passages) {
    field(passage.id);
    field(passage.text.bytes());
  }
  for (const AttackTarget& question : data.questions) {
    field(question.query_id);
    field(question.query.bytes());
    field(question.gold_document);
    for (const UntrustedText& answer : question.answers) field(answer.bytes());
  }
  return hasher.finish();
}

}  // namespace

Result<DataSet> load_data_set(std::string_view format, const std::string& path) {
  if (format != "squad") {
    return Error{ErrorCode::kInvalidOption,
                 "\"" + UntrustedText(std::string(format)).for_log() + "\" is not a data set format; known: squad"};
  }
  DataSet data;
  data.path = path;
  ReadOptions options;
  options.format = Format::kSquad;
  PassageSink sink(data);
  if (const auto read = read_path(path, options, sink); !read) return read.error();
  if (data.passages.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 sink.first.empty() ? UntrustedText(path).for_log() + ": holds no passage" : sink.first};
  }
  auto questions = read_squad_questions(path, options.limits);
  if (!questions) return questions.error();
  data.broken += questions->problems.size();
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
  if (data.questions.empty())
    return Error{ErrorCode::kInvalidInput, UntrustedText(path).for_log() + ": holds no question"};
  data.digest = digest_of(data);
  return data;
}

std::vector<std::size_t> sample_questions(std::size_t questions, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> all(questions);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (count == 0 || count >= questions) return all;
  RandomStream random(seed, "eval/sample-questions");
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(questions - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace casemate
