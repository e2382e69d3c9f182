#include "eval/experiment_parts.h"

#include <optional>

#include "eval/option_grid.h"

namespace casemate {

bool has_kind(const YamlValue& root, std::string_view kind) {
  const auto stated = root.find("kind");
  if (!stated) return false;
  const auto text = stated->text();
  return text.ok() && *text == kind;
}

Result<DataSource> read_data_source(const YamlValue& data) {
  DataSource out;
  std::optional<YamlValue> corpus;
  YamlOptions options(data);
  options.read("format", out.format).read("path", out.path).required().read("corpus", corpus);
  if (Status read = options.finish(); !read) return read.error();
  const auto format = find_data_format(out.format);
  if (!format) return data.error(format.error().code, format.error().message);
  if (corpus) {
    YamlOptions place(*corpus);
    place.read("format", out.corpus_format).required().read("path", out.corpus_path).required();
    if (Status read = place.finish(); !read) return read.error();
    const auto known = find_data_format(out.corpus_format);
    if (!known) return corpus->error(known.error().code, known.error().message);
    if (!known->passages) return corpus->error(ErrorCode::kInvalidOption, out.corpus_format + " holds no passages");
  }
  if (!format->passages && !corpus) {
    return data.error(ErrorCode::kInvalidOption,
                      out.format + " holds no passages: name some with corpus: {format: .., path: ..}");
  }
  if (!format->questions)
    return data.error(ErrorCode::kInvalidOption, out.format + " holds no questions: it serves as corpus");
  return out;
}

Status expand_each(const YamlValue& list, const std::function<Status(const std::string& text)>& visit) {
  const auto entries = list.list();
  if (!entries) return entries.error();
  for (const YamlValue& entry : *entries) {
    const auto texts = expand_grid(entry);
    if (!texts) return texts.error();
    for (const std::string& text : *texts) {
      if (Status visited = visit(text); !visited) return entry.error(visited.error().code, visited.error().message);
    }
  }
  return {};
}

}  // namespace casemate
