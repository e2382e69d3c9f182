#include "attack_queries.h"

#include <nlohmann/json.hpp>
#include <set>

#include "casemate/core/file_system.h"
#include "casemate/formats/squad.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::json;

Result<std::vector<AttackTarget>> from_squad(const std::string& path) {
  auto read = read_squad_questions(path, {});
  if (!read) return read.error();
  std::vector<AttackTarget> out;
  for (SquadQuestion& each : read->questions)
    out.push_back({std::move(each.id),
                   std::move(each.question),
                   std::move(each.gold_passage_id),
                   std::move(each.answers),
                   UntrustedText(),
                   {}});
  return out;
}

/// A text, or several, in a field that may be missing.
bool read_texts(const Json& record, const char* field, std::vector<UntrustedText>& out) {
  const auto it = record.find(field);
  if (it == record.end() || it->is_null()) return true;
  if (it->is_string()) {
    out.emplace_back(it->get<std::string>());
    return true;
  }
  if (!it->is_array()) return false;
  for (const Json& each : *it) {
    if (!each.is_string()) return false;
    out.emplace_back(each.get<std::string>());
  }
  return true;
}

bool read_text(const Json& record, const char* field, std::string& out) {
  const auto it = record.find(field);
  if (it == record.end() || it->is_null()) return true;
  if (it->is_number_integer()) {
    out = it->dump();
    return true;
  }
  if (!it->is_string()) return false;
  out = it->get<std::string>();
  return true;
}

Result<AttackTarget> from_json(const Json& record) {
  AttackTarget target;
  std::string query;
  std::string wrong;
  const char* name = record.contains("query") ? "query" : "question";
  if (!record.contains(name)) return Error{ErrorCode::kInvalidInput, "the field \"query\" is missing"};
  for (const auto& [field, place] : {std::pair<const char*, std::string*>{name, &query},
                                     {"id", &target.query_id},
                                     {"gold", &target.gold_document},
                                     {"wrong_answer", &wrong}}) {
    if (!read_text(record, field, *place))
      return Error{ErrorCode::kInvalidInput, std::string("the field \"") + field + "\" must be a text"};
  }
  for (const auto& [field, place] : {std::pair<const char*, std::vector<UntrustedText>*>{"answers", &target.answers},
                                     {"wrong_texts", &target.wrong_texts}}) {
    if (!read_texts(record, field, *place))
      return Error{ErrorCode::kInvalidInput, std::string("the field \"") + field + "\" must be a list of texts"};
  }
  target.query = UntrustedText(std::move(query));
  target.wrong_answer = UntrustedText(std::move(wrong));
  return target;
}

}  // namespace

Result<std::vector<AttackTarget>> read_attack_queries(const std::string& path) {
  if (path.ends_with(".zip") || path.ends_with(".json")) return from_squad(path);
  const auto text = read_file(path);
  if (!text) return text.error();
  const bool lines_of_json = path.ends_with(".jsonl");
  std::vector<AttackTarget> out;
  std::set<std::string> ids;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    std::string line = text->substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string place = path + ":" + std::to_string(number);
    AttackTarget target;
    if (lines_of_json) {
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_object()) return Error{ErrorCode::kInvalidInput, place + ": is no JSON object"};
      auto read = from_json(record);
      if (!read) return read.error().in(place);
      target = *std::move(read);
    } else {
      target.query = UntrustedText(line);
    }
    if (target.query_id.empty()) target.query_id = std::to_string(out.size());
    if (!ids.insert(target.query_id).second) {
      return Error{ErrorCode::kInvalidInput,
                   place + ": the id " + UntrustedText(target.query_id).for_log() + " stands twice"};
    }
    out.push_back(std::move(target));
  }
  return out;
}

}  // namespace casemate::cli
