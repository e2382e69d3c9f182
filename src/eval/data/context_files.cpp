// Records that are a passage and a question about it: medical dialogues and BIPIA's contexts.
#include <algorithm>
#include <filesystem>

#include "casemate/eval/bipia.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

using nlohmann::json;

/// Instructions of BIPIA's text_attack_*.json beside its contexts, by category in order; empty where there is none.
Result<std::vector<UntrustedText>> instructions_beside(const std::string& path) {
  std::vector<UntrustedText> out;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (const char* name : {"text_attack_test.json", "text_attack_train.json"}) {
    const std::filesystem::path file = folder / name;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) continue;
    auto read = read_bipia_instructions(file.string());
    if (!read) return read.error();
    for (BipiaInstruction& each : *read) out.push_back(std::move(each.text));
    break;
  }
  return out;
}

}  // namespace

Status load_chatdoctor(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  const Status read =
      each_json_record(path, builder, [&](const json& record, const std::string& number, const std::string& where) {
        std::string problem;
        const std::string asked = text_field(record, "input", problem);
        const std::string said = text_field(record, "output", problem);
        if (problem.empty() && asked.empty()) problem = "has no \"input\"";
        if (problem.empty() && said.empty()) problem = "has no \"output\"";
        if (!problem.empty()) return problem;
        const std::string id = "dialogue-" + number;
        builder.passage({id, UntrustedText(), UntrustedText("Patient: " + asked + "\nDoctor: " + said)}, where);
        AttackTarget question;
        question.query_id = id;
        question.query = UntrustedText(asked);
        question.answers.emplace_back(said);
        builder.question(std::move(question), {{id, 1}}, where);
        return problem;
      });
  if (!read) return read;
  builder.settle_gold();
  data.index_passages = true;
  return {};
}

Status load_bipia(const std::string& path, DataSet& data) {
  DataBuilder builder(data);
  const auto instructions = instructions_beside(path);
  if (!instructions) return instructions.error();
  const Status read =
      each_json_row(path, builder, [&](const json& record, const std::string& line, const std::string& where) {
        std::string problem;
        const std::string context = text_field(record, "context", problem);
        AttackTarget question;
        question.query_id = "bipia-" + line;
        question.query = UntrustedText(text_field(record, "question", problem));
        question.answers = text_list(record, "ideal", problem);
        if (problem.empty() && context.empty()) problem = "has no \"context\"";
        if (!problem.empty()) return problem;
        const std::string id = content_id("bipia", "", context);
        // Several questions may ask about one e-mail or table.
        const bool known = std::any_of(data.passages.begin(), data.passages.end(),
                                       [&id](const CorpusPassage& passage) { return passage.id == id; });
        if (!known) builder.passage({id, UntrustedText(), UntrustedText(context)}, where);
        if (!instructions->empty())
          question.wrong_texts.push_back((*instructions)[data.questions.size() % instructions->size()]);
        builder.question(std::move(question), {{id, 1}}, where);
        return problem;
      });
  if (!read) return read;
  builder.settle_gold();
  data.index_passages = true;
  return {};
}

Result<std::vector<BipiaInstruction>> read_bipia_instructions(const std::string& path) {
  std::vector<BipiaInstruction> out;
  // {category: [instruction, ...]}: the values are lists, which a reader of records would refuse.
  const auto parsed = read_json_file(path);
  if (!parsed) return parsed.error();
  if (!parsed->is_object())
    return Error{ErrorCode::kInvalidInput, UntrustedText(path).for_log() + ": expected {category: [instruction, ...]}"};
  for (const auto& [category, list] : parsed->items()) {
    if (!list.is_array()) {
      return Error{ErrorCode::kInvalidInput, UntrustedText(path).for_log() + ": category \"" +
                                                 UntrustedText(category).for_log(60) + "\" is no list"};
    }
    for (const json& each : list) {
      if (each.is_string() && !each.get_ref<const std::string&>().empty())
        out.push_back({category, UntrustedText(each.get<std::string>())});
    }
  }
  return out;
}

}  // namespace casemate
