#include <utility>

#include "casemate/core/file_system.h"
#include "formats/readers.h"

namespace casemate {

Document new_document(const Source& source, Format format) {
  Document document;
  document.id = source.name;
  document.format = format;
  document.path = source.path;
  document.absolute_path = join_path(source.root, source.name);
  document.root = source.root;
  document.record = {0, static_cast<std::size_t>(source.file.size())};
  return document;
}

Status read_text(const Source& source, ReadContext& context) {
  const auto bytes = source.file.read_all(context.limits().max_file_bytes);
  if (!bytes) return context.problem(source.path, bytes.error()), Status{};
  Document document = new_document(source, Format::kText);
  set_text(document, *bytes);
  return context.emit(std::move(document));
}

}  // namespace casemate
