// RealtimeQA as RobustRAG ships it.
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "eval/data/answer_sources.h"
#include "eval/data/data_builder.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;

/// The place of the right option, which the data writes as a number or as digits.
std::optional<std::size_t> option_of(const json& record, std::size_t options) {
  const auto found = record.find("choices answer");
  if (found == record.end()) return std::nullopt;
  std::size_t place = options;
  if (found->is_number_unsigned()) place = found->get<std::size_t>();
  if (found->is_string()) {
    const auto& digits = found->get_ref<const std::string&>();
    if (digits.size() == 1 && digits[0] >= '0' && digits[0] <= '9') place = static_cast<std::size_t>(digits[0] - '0');
  }
  return place < options ? std::optional(place) : std::nullopt;
}

/// Why a record cannot be used; empty where it can.
std::string read_record(const json& record, AnswerItem& item) {
  if (!record.is_object()) return "is no object";
  std::string problem;
  item.id = text_of(record, "question id");
  item.question = UntrustedText(text_of(record, "question"));
  item.answers = text_list(record, "correct answer", problem);
  for (UntrustedText& more : text_list(record, "expanded answer", problem)) item.answers.push_back(std::move(more));
  item.options = text_list(record, "choices", problem);
  item.right_option = option_of(record, item.options.size());
  if (!item.right_option) item.options.clear();
  item.wrong_answer = UntrustedText(text_of(record, "incorrect answer"));
  item.wrong_texts = text_list(record, "incorrect_context", problem);
  if (!problem.empty()) return problem;
  if (item.question.empty()) return "has no \"question\"";
  if (item.answers.empty()) return "has no \"correct answer\"";
  const auto context = record.find("context");
  if (context == record.end() || !context->is_array()) return "has no list \"context\"";
  for (const json& passage : *context) {
    if (!passage.is_object()) return "\"context\" holds something else than objects";
    PromptPassage read{UntrustedText(text_of(passage, "title")), UntrustedText(text_of(passage, "text"))};
    if (!read.text.empty()) item.passages.push_back(std::move(read));
  }
  return {};
}

}  // namespace

Status load_realtimeqa_answers(const std::string& path, const AnswerSetOptions& /*options*/, AnswerSet& out) {
  const auto content = read_file(path);
  if (!content) return content.error();
  const json root = json::parse(*content, nullptr, false);
  if (!root.is_array()) return Error{ErrorCode::kInvalidInput, path + ": expected a JSON array of questions"};
  out.digest = blake2b(*content);
  AnswerSetBuilder builder(out);
  for (std::size_t i = 0; i < root.size(); ++i) {
    AnswerItem item;
    std::string problem = read_record(root[i], item);
    if (problem.empty()) problem = builder.add(std::move(item), i + 1);
    if (!problem.empty()) out.broken.push_back("record " + std::to_string(i + 1) + " " + problem);
  }
  return {};
}

}  // namespace casemate
