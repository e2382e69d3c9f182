// BEIR folders: corpus.jsonl, queries.jsonl, qrels/*.tsv.
#include <algorithm>

#include "casemate/core/file_system.h"
#include "casemate/eval/trec.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

/// "_id" or "id"; numbers count as text.
std::string id_of(const nlohmann::json& record, std::string& problem) {
  std::string id = text_field(record, "_id", problem);
  return id.empty() ? text_field(record, "id", problem) : id;
}

/// test.tsv, or else the only one.
Result<std::string> judgements_of(const std::string& folder) {
  const std::string qrels = join_path(folder, "qrels");
  const auto names = FileSystem::posix().list(qrels);
  if (!names) {
    return Error{ErrorCode::kInvalidInput, UntrustedText(qrels).for_log() +
                                               ": there are no judgements (a BEIR folder has qrels/test.tsv), so that "
                                               "nothing says which passage answers"};
  }
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    if (name.ends_with(".tsv")) files.push_back(name);
  }
  const auto test = std::find(files.begin(), files.end(), "test.tsv");
  if (test != files.end()) return join_path(qrels, *test);
  if (files.size() == 1) return join_path(qrels, files.front());
  return Error{ErrorCode::kInvalidInput, UntrustedText(qrels).for_log() +
                                             ": needs test.tsv or exactly one .tsv file, has " +
                                             std::to_string(files.size())};
}

}  // namespace

Status load_beir(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  Status read = each_json_row(join_path(path, "corpus.jsonl"), builder,
                              [&](const nlohmann::json& record, const std::string&, const std::string& where) {
                                std::string problem;
                                CorpusPassage passage;
                                passage.id = id_of(record, problem);
                                passage.title = UntrustedText(text_field(record, "title", problem));
                                passage.text = UntrustedText(text_field(record, "text", problem));
                                if (problem.empty()) builder.passage(std::move(passage), where);
                                return problem;
                              });
  if (!read) return read;
  const auto file = judgements_of(path);
  if (!file) return file.error();
  auto qrels = read_qrels(*file);
  if (!qrels) return qrels.error();
  read = each_json_row(join_path(path, "queries.jsonl"), builder,
                       [&](const nlohmann::json& record, const std::string&, const std::string& where) {
                         std::string problem;
                         AttackTarget question;
                         question.query_id = id_of(record, problem);
                         question.query = UntrustedText(text_field(record, "text", problem));
                         const auto gold = qrels->find(question.query_id);
                         if (!problem.empty()) return problem;
                         // Queries of other splits are no fault of the data.
                         if (gold == qrels->end()) return problem;
                         builder.question(std::move(question), gold->second, where);
                         return problem;
                       });
  if (!read) return read;
  for (const AttackTarget& question : data.questions) qrels->erase(question.query_id);
  for (const auto& [query, judged] : *qrels) data.stray_judgements += judged.size();
  builder.settle_gold();
  data.index_passages = true;
  return {};
}

}  // namespace casemate
