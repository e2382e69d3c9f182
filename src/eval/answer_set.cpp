#include "casemate/eval/answer_set.h"

#include <nlohmann/json.hpp>
#include <set>

#include "casemate/core/file_system.h"
#include "casemate/core/nearest_name.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;

/// Strings of a field that holds one or a list of them; `problem` gets why not.
std::vector<UntrustedText> texts(const json& record, const char* field, std::string& problem) {
  std::vector<UntrustedText> out;
  const auto found = record.find(field);
  if (found == record.end() || found->is_null()) return out;
  const json list = found->is_array() ? *found : json::array({*found});
  for (const json& each : list) {
    if (!each.is_string()) {
      problem = std::string("\"") + field + "\" holds something else than text";
      return {};
    }
    if (!each.get_ref<const std::string&>().empty()) out.emplace_back(each.get<std::string>());
  }
  return out;
}

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
  item.question = UntrustedText(text_of(record, "question"));
  item.answers = texts(record, "correct answer", problem);
  for (UntrustedText& more : texts(record, "expanded answer", problem)) item.answers.push_back(std::move(more));
  item.options = texts(record, "choices", problem);
  item.right_option = option_of(record, item.options.size());
  if (!item.right_option) item.options.clear();
  item.wrong_answer = UntrustedText(text_of(record, "incorrect answer"));
  item.wrong_texts = texts(record, "incorrect_context", problem);
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
  return item.passages.empty() ? "has no passage with text" : "";
}

}  // namespace

Result<AnswerSet> load_answer_set(std::string_view format, const std::string& path) {
  constexpr std::string_view kFormats[] = {"realtimeqa"};
  if (format != kFormats[0]) {
    return Error{ErrorCode::kInvalidOption, "\"" + UntrustedText(std::string(format)).for_log() +
                                                "\" is no format of questions with passages" +
                                                name_hint(format, kFormats)};
  }
  const auto content = read_file(path);
  if (!content) return content.error();
  const json root = json::parse(*content, nullptr, false);
  if (!root.is_array()) return Error{ErrorCode::kInvalidInput, path + ": expected a JSON array of questions"};
  AnswerSet out;
  out.path = path;
  out.digest = blake2b(*content);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < root.size(); ++i) {
    AnswerItem item;
    const std::string problem = read_record(root[i], item);
    if (!problem.empty()) {
      out.broken.push_back("record " + std::to_string(i + 1) + " " + problem);
      continue;
    }
    item.id = text_of(root[i], "question id");
    if (item.id.empty()) item.id = std::to_string(i + 1);
    if (!ids.insert(item.id).second) {
      item.id += "#" + std::to_string(i + 1);
      ids.insert(item.id);
    }
    out.items.push_back(std::move(item));
  }
  if (out.items.empty()) {
    return Error{ErrorCode::kInvalidInput,
                 path + ": no whole question in it" + (out.broken.empty() ? "" : " (" + out.broken.front() + ")")};
  }
  return out;
}

}  // namespace casemate
