#include "eval/data/data_builder.h"

#include <algorithm>

#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "eval/numbered_lines.h"
#include "formats/json_value.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::size_t kProblems = 100;
constexpr std::uint64_t kLargestFile = UINT64_C(4) << 30U;

bool is_blank(const UntrustedText& text) { return text.bytes().find_first_not_of(" \t\r\n") == std::string::npos; }

}  // namespace

std::string DataBuilder::place(const std::string& path, std::size_t record) {
  return UntrustedText(path).for_log() + ": record " + std::to_string(record);
}

void DataBuilder::broken(const std::string& where, const std::string& why) {
  ++data_.broken;
  if (data_.problems.size() < kProblems) data_.problems.push_back(where + ": " + why);
}

void DataBuilder::passage(CorpusPassage passage, const std::string& where) {
  if (passage.id.empty()) return broken(where, "the passage has no id");
  if (is_blank(passage.text)) return broken(where, "the passage has no text");
  if (!is_valid_utf8(passage.id) || !is_valid_utf8(passage.text.bytes()))
    return broken(where, "the passage is not valid UTF-8");
  if (!passage_ids_.insert(passage.id).second)
    return broken(where, "the passage's id stood before: " + UntrustedText(passage.id).for_log(60));
  data_.passages.push_back(std::move(passage));
}

void DataBuilder::question(AttackTarget question, Judgements gold, const std::string& where) {
  if (question.query_id.empty()) return broken(where, "the question has no id");
  if (is_blank(question.query)) return broken(where, "the question has no text");
  if (!question_ids_.insert(question.query_id).second) {
    ++data_.repeated;
    return;
  }
  data_.questions.push_back(std::move(question));
  data_.judgements.push_back(std::move(gold));
}

void DataBuilder::settle_gold() {
  std::vector<AttackTarget> questions;
  std::vector<Judgements> judgements;
  for (std::size_t i = 0; i < data_.questions.size(); ++i) {
    Judgements& gold = data_.judgements[i];
    data_.stray_judgements +=
        std::erase_if(gold, [this](const auto& each) { return !passage_ids_.contains(each.first); });
    const auto best =
        std::max_element(gold.begin(), gold.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == gold.end() || best->second < 1) {
      ++data_.without_gold;
      continue;
    }
    data_.questions[i].gold_document = best->first;
    questions.push_back(std::move(data_.questions[i]));
    judgements.push_back(std::move(gold));
  }
  data_.questions = std::move(questions);
  data_.judgements = std::move(judgements);
}

Result<json> read_json_file(const std::string& path) {
  const auto content = read_file(path, kLargestFile);
  if (!content) return content.error();
  std::string_view text = *content;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  auto parsed = parse_json(text, 128);
  if (!parsed) return parsed.error().in(UntrustedText(path).for_log());
  return parsed;
}

Status each_json_record(const std::string& path, DataBuilder& builder, const TakeRecord& take) {
  const std::string shown = UntrustedText(path).for_log();
  const auto parsed = read_json_file(path);
  if (!parsed) return parsed.error();
  if (!parsed->is_array() && !parsed->is_object())
    return Error{ErrorCode::kInvalidInput, shown + ": expected a list of records, found " + parsed->type_name()};
  std::size_t number = 0;
  for (const auto& [key, record] : parsed->items()) {
    const std::string where = DataBuilder::place(path, ++number);
    if (!record.is_object()) {
      builder.broken(where, "is no object");
      continue;
    }
    const std::string wrong = take(record, parsed->is_object() ? key : std::to_string(number), where);
    if (!wrong.empty()) builder.broken(where, wrong);
  }
  return {};
}

Status each_json_row(const std::string& path, DataBuilder& builder, const TakeRecord& take) {
  const auto content = read_file(path, kLargestFile);
  if (!content) return content.error();
  const std::string shown = UntrustedText(path).for_log();
  return each_numbered_line(*content, shown, [&](std::string_view line, std::size_t number) -> std::string {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const std::string where = shown + ":" + std::to_string(number);
    const auto parsed = parse_json(line, 64);
    if (!parsed) {
      builder.broken(where, parsed.error().message);
    } else if (!parsed->is_object()) {
      builder.broken(where, "expected a JSON object, found " + std::string(parsed->type_name()));
    } else if (const std::string wrong = take(*parsed, std::to_string(number), where); !wrong.empty()) {
      builder.broken(where, wrong);
    }
    return {};
  });
}

std::string text_field(const json& record, const char* field, std::string& problem) {
  const auto found = record.find(field);
  if (found == record.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number_integer()) return found->dump();
  problem = "\"" + std::string(field) + "\" must be text, and is " + found->type_name();
  return {};
}

std::vector<UntrustedText> text_list(const json& record, const char* field, std::string& problem) {
  std::vector<UntrustedText> out;
  const auto found = record.find(field);
  if (found == record.end() || found->is_null()) return out;
  if (!found->is_array()) {
    std::string one = text_field(record, field, problem);
    if (!one.empty()) out.emplace_back(std::move(one));
    return out;
  }
  for (const json& each : *found) {
    if (!each.is_string()) {
      problem = "\"" + std::string(field) + "\" holds something else than text";
      return {};
    }
    if (!each.get_ref<const std::string&>().empty()) out.emplace_back(each.get<std::string>());
  }
  return out;
}

std::string content_id(std::string_view prefix, std::string_view title, std::string_view text) {
  return std::string(prefix) + "-" + to_hex(blake2b(std::string(title) + "\n" + std::string(text))).substr(0, 16);
}

}  // namespace casemate
