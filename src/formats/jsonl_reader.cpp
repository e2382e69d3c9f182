#include <string>
#include <utility>

#include "formats/json_value.h"
#include "formats/readers.h"
#include "formats/record_stream.h"

namespace casemate {
namespace {

using nlohmann::json;

/// A field that must be text. Numbers count as text for ids only.
Result<std::string> text_field(const json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  if (found->is_null()) return std::string();
  return Error{ErrorCode::kInvalidInput,
               "field \"" + std::string(name) + "\" must be a string, and is " +
                   (found->is_number() ? "a number" : "of type " + std::string(found->type_name()))};
}

/// Empty where the record has none.
Result<std::string> own_id_of(const json& record) {
  for (const char* name : {"_id", "id"}) {
    const auto found = record.find(name);
    if (found == record.end() || found->is_null()) continue;
    if (found->is_number_integer()) return found->dump();
    auto id = text_field(record, name);
    if (id && id->empty()) return Error{ErrorCode::kInvalidInput, "field \"" + std::string(name) + "\" is empty"};
    return id;
  }
  return std::string();
}

void add_metadata(const json& record, Document& document) {
  const auto add = [&](const std::string& name, const json& value) {
    document.metadata[name] = value.is_string() ? value.get<std::string>() : value.dump();
  };
  for (const auto& [name, value] : record.items()) {
    if (name == "_id" || name == "id" || name == "title" || name == "text") continue;
    if (name == "metadata" && value.is_object()) {
      for (const auto& [inner, inner_value] : value.items()) add(inner, inner_value);
    } else {
      add(name, value);
    }
  }
}

Status fill(const json& record, bool generates_id, Document& document) {
  if (!record.is_object())
    return Error{ErrorCode::kInvalidInput,
                 "expected a JSON object {\"_id\", \"title\", \"text\"}, found " + std::string(record.type_name())};
  auto id = own_id_of(record);
  if (!id) return id.error();
  if (id->empty() && !generates_id) {
    return Error{ErrorCode::kInvalidInput,
                 "field \"_id\" is missing (every passage needs one; --generate-ids makes them)"};
  }
  const auto title = text_field(record, "title");
  if (!title) return title.error();
  if (!record.contains("text")) return Error{ErrorCode::kInvalidInput, "field \"text\" is missing"};
  const auto text = text_field(record, "text");
  if (!text) return text.error();
  if (id->empty()) {
    document.id += "#" + std::to_string(document.line);
  } else {
    document.id = *std::move(id);
    document.root.clear();
  }
  document.title = cleaned_title(*title, document);
  add_metadata(record, document);
  set_text(document, *text);
  return {};
}

}  // namespace

Status read_jsonl(const Source& source, ReadContext& context) {
  ByteStream stream(source.file);
  std::string line;
  bool too_long = false;
  std::size_t number = 0;
  for (std::size_t begin = 0; stream.line(line, context.limits().max_record_bytes, too_long); begin = stream.offset()) {
    if (Status going = context.check_stop(); !going) return going;
    ++number;
    if (too_long) {
      context.problem(source.path, number, ErrorCode::kLimit,
                      "the line is longer than " + std::to_string(context.limits().max_record_bytes) +
                          " bytes (limits.max_record_bytes)");
      continue;
    }
    std::string_view text = line;
    if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto record = parse_json(text, context.limits().max_nesting);
    if (!record) {
      context.problem(source.path, number, record.error().code, record.error().message);
      continue;
    }
    Document document = new_document(source, Format::kJsonl);
    document.source_unit = SourceUnit::kFieldBytes;
    document.line = number;
    document.record = {begin, begin + line.size()};
    document.one_passage = true;
    if (const Status filled = fill(*record, context.options().generate_ids, document); !filled) {
      context.problem(source.path, number, filled.error().code, filled.error().message);
      continue;
    }
    if (const Status emitted = context.emit(std::move(document)); !emitted) return emitted;
  }
  if (!stream.status()) context.problem(source.path, stream.status().error());
  if (number == 0) context.problem(source.path, 0, ErrorCode::kInvalidInput, "the file is empty");
  return {};
}

}  // namespace casemate
