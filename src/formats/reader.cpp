#include "casemate/formats/reader.h"

#include <new>
#include <string>
#include <utility>

#include "formats/folder_walk.h"
#include "formats/readers.h"

namespace casemate {
namespace {

Status read_as(Format format, const Source& source, ReadContext& context) {
  switch (format) {
    case Format::kAuto:
    case Format::kText:
      return read_text(source, context);
    case Format::kMarkdown:
    case Format::kHtml:
      return read_markup(source, format, context);
    case Format::kPdf:
      return read_pdf(source, context);
    case Format::kDocx:
      return read_docx(source, context);
    case Format::kCsv:
    case Format::kTsv:
      return read_csv(source, format, context);
    case Format::kJsonl:
      return read_jsonl(source, context);
    case Format::kSquad:
      return read_squad(source, context);
  }
  return {};
}

Status read_file_at(const FoundFile& found, ReadContext& context) {
  if (Status going = context.check_stop(); !going) return going;
  const std::string& path = found.path;
  auto file = InputFile::open(path, shown_path(path));
  if (!file) return context.problem(path, file.error()), Status{};
  ++context.summary().files;
  const Source source{path, found.name, found.root, *file};
  const auto format = detect_format(source, context.options().format);
  if (!format) return context.problem(path, format.error()), Status{};
  try {
    return read_as(*format, source, context);
  } catch (const std::bad_alloc&) {
    context.problem(path, 0, ErrorCode::kLimit, "reading it takes more memory than there is");
  }
  return {};
}

template <typename T>
Status in_range(std::string_view field, T value, T least, T most) {
  if (value >= least && value <= most) return {};
  return Error{ErrorCode::kInvalidOption, "limits." + std::string(field) + ": " + std::to_string(value) +
                                              " is not in [" + std::to_string(least) + ", " + std::to_string(most) +
                                              "]"};
}

}  // namespace

Status check(const ReadOptions& options) {
  const ReadLimits& limits = options.limits;
  for (const Status& status :
       {in_range<std::uint64_t>("max_file_bytes", limits.max_file_bytes, 1, UINT64_MAX),
        in_range<std::size_t>("max_record_bytes", limits.max_record_bytes, 1, SIZE_MAX),
        in_range<std::uint64_t>("max_documents", limits.max_documents, 1, UINT64_MAX),
        in_range("max_nesting", limits.max_nesting, 1, 10'000),
        in_range("max_folder_depth", limits.max_folder_depth, 0, 1'000),
        in_range<std::uint64_t>("max_unzipped_bytes", limits.max_unzipped_bytes, 1, UINT64_MAX),
        in_range("max_zip_ratio", limits.max_zip_ratio, 1, INT32_MAX),
        in_range("max_pdf_pages", limits.max_pdf_pages, 1, INT32_MAX - 1),
        in_range("child_timeout_ms", limits.child_timeout_ms, 1, 3'600'000),
        in_range<std::uint64_t>("child_memory_bytes", limits.child_memory_bytes, UINT64_C(64) << 20U, UINT64_MAX),
        in_range<std::uint64_t>("child_output_bytes", limits.child_output_bytes, 1, UINT64_MAX)}) {
    if (!status) return status;
  }
  return {};
}

Result<ReadSummary> read_paths(std::span<const std::string> paths, const ReadOptions& options, DocumentSink& sink,
                               const std::stop_token& stop) {
  if (const Status valid = check(options); !valid) return valid.error();
  ReadContext context(options, sink, stop);
  try {
    for (const std::string& path : paths) {
      const Status walked =
          walk_files(path, context, [&](const FoundFile& file) { return read_file_at(file, context); });
      if (!walked) return walked.error();
    }
  } catch (const std::exception& error) {
    return Error{ErrorCode::kIo, std::string("reading stopped: ") + UntrustedText(error.what()).for_log()};
  }
  return context.summary();
}

Result<ReadSummary> read_path(const std::string& path, const ReadOptions& options, DocumentSink& sink,
                              const std::stop_token& stop) {
  return read_paths({&path, 1}, options, sink, stop);
}

}  // namespace casemate
