#include "models/model_record.h"

#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "models/safe_name.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxBytes = 1'000'000;
constexpr int kFormat = 1;

void put(json& object, const char* name, const std::optional<std::string>& value) {
  if (value) object[name] = *value;
}

/// Takes fields out of an object and remembers the first that is missing or of another type.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}
  std::string text(const char* name) {
    const auto it = object_.find(name);
    if (it != object_.end() && it->is_string()) return it->get<std::string>();
    if (problem_.empty()) problem_ = std::string("\"") + name + "\" must be a text";
    return {};
  }
  std::optional<std::string> text_if_there(const char* name) {
    if (!object_.contains(name)) return std::nullopt;
    return text(name);
  }
  std::uint64_t size(const char* name) {
    const auto it = object_.find(name);
    if (it != object_.end() && it->is_number_unsigned()) return it->get<std::uint64_t>();
    if (problem_.empty()) problem_ = std::string("\"") + name + "\" must be a number of bytes";
    return 0;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  const json& object_;
  std::string problem_;
};

Result<ModelFile> read_file_entry(const json& item) {
  if (!item.is_object()) return Error{ErrorCode::kCorrupt, "\"files\" must hold objects"};
  Fields fields(item);
  ModelFile file;
  file.name = fields.text("name");
  file.bytes = fields.size("bytes");
  file.sha256 = fields.text("sha256");
  if (!fields.problem().empty()) return Error{ErrorCode::kCorrupt, "in \"files\": " + fields.problem()};
  if (!is_safe_file_name(file.name) || !is_sha256(file.sha256)) {
    return Error{ErrorCode::kCorrupt, "in \"files\": an unsafe name or a broken sha256"};
  }
  return file;
}

Result<ModelRecord> parse(const std::string& text, std::string_view folder_name) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return Error{ErrorCode::kCorrupt, "is not a JSON object"};
  const auto format = root.find("format");
  if (format == root.end() || !format->is_number_integer() || format->get<int>() != kFormat) {
    return Error{ErrorCode::kUnsupported, "\"format\" must be 1; a newer Casemate may have written it"};
  }
  Fields fields(root);
  ModelRecord record;
  record.entry.name = fields.text("name");
  const std::string purpose = fields.text("purpose");
  record.entry.licence = fields.text("licence");
  record.entry.description = fields.text("description");
  record.created = fields.text("created");
  record.overrides.query_prefix = fields.text_if_there("query_prefix");
  record.overrides.passage_prefix = fields.text_if_there("passage_prefix");
  record.overrides.pooling = fields.text_if_there("pooling");
  if (!fields.problem().empty()) return Error{ErrorCode::kCorrupt, fields.problem()};
  if (record.entry.name != folder_name) {
    return Error{ErrorCode::kCorrupt, "\"name\" is not the folder's name (was the folder renamed?)"};
  }
  const Result<ModelPurpose> known = parse_model_purpose(purpose);
  if (!known) return Error{ErrorCode::kCorrupt, known.error().message};
  record.entry.purpose = *known;
  const auto files = root.find("files");
  if (files == root.end() || !files->is_array() || files->empty()) {
    return Error{ErrorCode::kCorrupt, "\"files\" must be a list"};
  }
  for (const json& item : *files) {
    auto file = read_file_entry(item);
    if (!file) return file.error();
    record.entry.files.push_back(*std::move(file));
  }
  return record;
}

}  // namespace

std::string write_model_record(const ModelRecord& record) {
  json files = json::array();
  for (const ModelFile& file : record.entry.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  }
  json root = {{"format", kFormat},
               {"name", record.entry.name},
               {"purpose", model_purpose_name(record.entry.purpose)},
               {"licence", record.entry.licence},
               {"description", record.entry.description},
               {"created", record.created},
               {"files", std::move(files)}};
  put(root, "query_prefix", record.overrides.query_prefix);
  put(root, "passage_prefix", record.overrides.passage_prefix);
  put(root, "pooling", record.overrides.pooling);
  return root.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<ModelRecord> read_model_record(const std::string& folder) {
  const std::string path = join_path(folder, kModelRecordName);
  const Result<std::string> text = read_file(path, kMaxBytes);
  if (!text) return text.error();
  auto record = parse(*text, std::string_view(folder).substr(folder.rfind('/') + 1));
  if (!record) return record.error().in(path);
  return record;
}

}  // namespace casemate
