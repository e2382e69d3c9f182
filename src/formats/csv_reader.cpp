#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/csv_record.h"
#include "formats/readers.h"

namespace casemate {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

struct Columns {
  std::vector<std::string> names;
  std::size_t id = kNone;
  std::size_t title = kNone;
  std::size_t text = kNone;  ///< kNone: all others
};

std::size_t find_first(const std::vector<std::string>& names, std::initializer_list<std::string_view> wanted) {
  for (const std::string_view name : wanted) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  return kNone;
}

/// Names as given; an empty or repeated one gets its number.
std::vector<std::string> column_names(const CsvRecord& first, bool has_header) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < first.fields.size(); ++i) {
    std::string name = has_header ? clean_text(first.fields[i].value).text : "";
    if (name.empty()) name = std::to_string(i + 1);
    while (!seen.insert(name).second) name += "_" + std::to_string(i + 1);
    names.push_back(std::move(name));
  }
  return names;
}

Result<Columns> columns_of(const CsvRecord& first, const CsvOptions& options) {
  Columns columns;
  columns.names = column_names(first, options.has_header);
  const auto named = [&](const std::string& wanted, std::string_view option, std::size_t& column) -> Status {
    column = find_first(columns.names, {wanted});
    if (column != kNone) return {};
    std::string all;
    for (const std::string& name : columns.names) all += (all.empty() ? "" : ", ") + UntrustedText(name).for_log(60);
    return Error{ErrorCode::kInvalidInput, "there is no column \"" + UntrustedText(wanted).for_log() + "\" (" +
                                               std::string(option) + "); there are " + UntrustedText(all).for_log(400)};
  };
  columns.id = find_first(columns.names, {"_id", "id"});
  columns.title = find_first(columns.names, {"title"});
  columns.text = find_first(columns.names, {"text", "passage", "content", "body", "context"});
  if (!options.id_column.empty()) {
    if (const Status found = named(options.id_column, "csv.id_column", columns.id); !found) return found.error();
  }
  if (!options.title_column.empty()) {
    if (const Status found = named(options.title_column, "csv.title_column", columns.title); !found)
      return found.error();
  }
  if (!options.text_column.empty()) {
    if (const Status found = named(options.text_column, "csv.text_column", columns.text); !found) return found.error();
  }
  return columns;
}

void append(std::string& text, OffsetMap& offsets, const CsvField& field) {
  text += field.value;
  for (const OffsetMap::Piece& piece : field.offsets.pieces()) offsets.append(piece.text.size(), piece.source);
}

Document document_of(const Source& source, Format format, const Columns& columns, const CsvRecord& record,
                     std::size_t row) {
  Document document = new_document(source, format);
  document.id += "#" + std::to_string(row);
  if (columns.id != kNone) {
    document.id = record.fields[columns.id].value;
    document.root.clear();
  }
  document.line = record.line;
  document.record = record.bytes;
  document.one_passage = true;
  std::string text;
  OffsetMap offsets;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const CsvField& field = record.fields[i];
    if (i == columns.title) {
      document.title = cleaned_title(field.value, document);
    } else if (i == columns.text) {
      append(text, offsets, field);
    } else if (columns.text == kNone && i != columns.id && !field.value.empty()) {
      const std::string label = (text.empty() ? "" : "\n") + columns.names[i] + ": ";
      text += label;
      offsets.append(label.size(), {field.begin, field.begin});
      append(text, offsets, field);
    }
    if (i != columns.text && i != columns.title && i != columns.id) document.metadata[columns.names[i]] = field.value;
  }
  set_text(document, text, offsets);
  return document;
}

}  // namespace

Status read_csv(const Source& source, Format format, ReadContext& context) {
  ByteStream stream(source.file);
  if (const auto head = source.file.head(3); head && *head == "\xEF\xBB\xBF") {
    for (int i = 0; i < 3; ++i) (void)stream.next();
  }
  const bool tabs = format == Format::kTsv;
  CsvRecordReader reader(stream, tabs ? '\t' : ',', !tabs, context.limits().max_record_bytes);
  CsvRecord record;
  Columns columns;
  std::size_t row = 0;
  for (;;) {
    if (Status going = context.check_stop(); !going) return going;
    const auto more = reader.next(record);
    if (more && !*more) break;
    if (!more) {
      context.problem(source.path, record.line, more.error().code, more.error().message);
      if (columns.names.empty()) return {};  // without a header the rest has no meaning
      continue;
    }
    if (columns.names.empty()) {
      auto found = columns_of(record, context.options().csv);
      if (!found) return context.problem(source.path, record.line, found.error().code, found.error().message), Status{};
      columns = *std::move(found);
      if (context.options().csv.has_header) continue;
    }
    ++row;
    if (record.fields.size() != columns.names.size()) {
      context.problem(source.path, record.line, ErrorCode::kInvalidInput,
                      "the row has " + std::to_string(record.fields.size()) + " columns, expected " +
                          std::to_string(columns.names.size()));
      continue;
    }
    if (columns.id != kNone && record.fields[columns.id].value.empty()) {
      context.problem(source.path, record.line, ErrorCode::kInvalidInput, "the id column is empty");
      continue;
    }
    if (const Status emitted = context.emit(document_of(source, format, columns, record, row)); !emitted)
      return emitted;
  }
  if (!stream.status()) context.problem(source.path, stream.status().error());
  if (columns.names.empty()) context.problem(source.path, 0, ErrorCode::kInvalidInput, "the file is empty");
  if (!columns.names.empty() && row == 0)
    context.problem(source.path, 0, ErrorCode::kInvalidInput, "there is no row after the header");
  return {};
}

}  // namespace casemate
