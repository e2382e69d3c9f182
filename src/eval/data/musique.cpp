// MuSiQue: questions that need several passages, with their paragraphs, and the corpus beside.
#include <filesystem>

#include "casemate/core/file_system.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr char kPrefix[] = "musique";

std::string paragraph_id(const json& paragraph, const char* text, std::string& problem) {
  return content_id(kPrefix, text_field(paragraph, "title", problem), text_field(paragraph, text, problem));
}

/// NAME_corpus.json beside NAME.json: [{title, text}].
std::string corpus_beside(const std::string& path) {
  const std::filesystem::path file(path);
  return (file.parent_path() / (file.stem().string() + "_corpus.json")).string();
}

}  // namespace

Status load_musique(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  std::set<std::string> there;
  const auto add = [&](const json& paragraph, const char* text, const std::string& where) {
    std::string problem;
    CorpusPassage passage;
    passage.id = paragraph_id(paragraph, text, problem);
    passage.title = UntrustedText(text_field(paragraph, "title", problem));
    passage.text = UntrustedText(text_field(paragraph, text, problem));
    // Questions share paragraphs, which is no fault of theirs.
    if (problem.empty() && there.insert(passage.id).second) builder.passage(std::move(passage), where);
    return problem;
  };
  const std::string corpus = corpus_beside(path);
  const bool has_corpus = FileSystem::posix().info(corpus).ok();
  if (has_corpus) {
    const Status read = each_json_record(
        corpus, builder,
        [&](const json& record, const std::string&, const std::string& where) { return add(record, "text", where); });
    if (!read) return read;
  }
  const Status read =
      each_json_record(path, builder, [&](const json& record, const std::string&, const std::string& where) {
        std::string problem;
        AttackTarget question;
        question.query_id = text_field(record, "id", problem);
        question.query = UntrustedText(text_field(record, "question", problem));
        question.answers = text_list(record, "answer", problem);
        for (UntrustedText& other : text_list(record, "answer_aliases", problem))
          question.answers.push_back(std::move(other));
        const auto paragraphs = record.find("paragraphs");
        if (paragraphs == record.end() || !paragraphs->is_array()) problem = "has no list \"paragraphs\"";
        if (!problem.empty()) return problem;
        Judgements gold;
        for (const json& paragraph : *paragraphs) {
          if (!paragraph.is_object()) return std::string("\"paragraphs\" holds something else than objects");
          if (!has_corpus) problem = add(paragraph, "paragraph_text", where);
          const auto supports = paragraph.find("is_supporting");
          if (supports != paragraph.end() && *supports == true)
            gold[paragraph_id(paragraph, "paragraph_text", problem)] = 1;
          if (!problem.empty()) return problem;
        }
        builder.question(std::move(question), std::move(gold), where);
        return problem;
      });
  if (!read) return read;
  builder.settle_gold();
  data.index_passages = true;
  return {};
}

}  // namespace casemate
