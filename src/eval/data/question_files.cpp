// Questions whose corpus lies elsewhere: PoisonedRAG's targets, NQ-open, WebQuestions.
#include "eval/data/data_builder.h"

namespace casemate {

using nlohmann::json;

Status load_poisonedrag(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  data.has_gold = false;
  return each_json_record(path, builder, [&](const json& record, const std::string& key, const std::string& where) {
    std::string problem;
    AttackTarget question;
    question.query_id = text_field(record, "id", problem);
    if (question.query_id.empty()) question.query_id = key;
    question.query = UntrustedText(text_field(record, "question", problem));
    question.answers = text_list(record, "correct answer", problem);
    question.wrong_answer = UntrustedText(text_field(record, "incorrect answer", problem));
    question.wrong_texts = text_list(record, "adv_texts", problem);
    if (problem.empty() && question.wrong_answer.empty()) problem = "has no \"incorrect answer\"";
    if (problem.empty()) builder.question(std::move(question), {}, where);
    return problem;
  });
}

Status load_nq_open(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  data.has_gold = false;
  return each_json_row(path, builder, [&](const json& record, const std::string& line, const std::string& where) {
    std::string problem;
    AttackTarget question;
    question.query_id = text_field(record, "id", problem);
    if (question.query_id.empty()) question.query_id = "nq-" + line;
    question.query = UntrustedText(text_field(record, "question", problem));
    question.answers = text_list(record, "answer", problem);
    if (problem.empty()) builder.question(std::move(question), {}, where);
    return problem;
  });
}

Status load_webquestions(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  data.has_gold = false;
  return each_json_record(path, builder, [&](const json& record, const std::string& number, const std::string& where) {
    std::string problem;
    AttackTarget question;
    question.query_id = text_field(record, "qId", problem);
    if (question.query_id.empty()) question.query_id = "wq-" + number;
    question.query = UntrustedText(text_field(record, "qText", problem));
    question.answers = text_list(record, "answers", problem);
    if (problem.empty()) builder.question(std::move(question), {}, where);
    return problem;
  });
}

}  // namespace casemate
