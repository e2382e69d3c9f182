#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "formats/readers.h"
#include "formats/reading_child.h"

namespace casemate {
namespace {

Error explain(const ChildOutput& output) {
  const auto says = [&](std::string_view words) { return output.err.find(words) != std::string::npos; };
  if (says("Incorrect password"))
    return {ErrorCode::kInvalidInput, "is encrypted; remove the password first (qpdf --decrypt)"};
  if (says("Copying of text"))
    return {ErrorCode::kInvalidInput, "does not permit copying its text (its author's setting)"};
  if (output.signal != 0)
    return {ErrorCode::kInvalidInput,
            "pdftotext " + describe_end(output) + " on it (memory or processor time limit, or a broken PDF)"};
  const std::string first = output.err.substr(0, output.err.find('\n'));
  return {ErrorCode::kInvalidInput,
          "is a broken PDF: pdftotext " + describe_end(output) + " (" + UntrustedText(first).for_log() + ")"};
}

Result<std::string> extract(const Source& source, const ReadContext& context) {
  const ReadOptions& options = context.options();
  std::error_code error;
  const std::string path = std::filesystem::absolute(source.path, error).string();
  if (error) return Error{ErrorCode::kIo, error.message()};
  const ReadLimits& limits = options.limits;
  // One page more than allowed is asked for, to see whether there is one.
  auto output =
      run_reading_child(options.pdftotext_program,
                        {"-enc", "UTF-8", "-eol", "unix", "-l", std::to_string(limits.max_pdf_pages + 1), path, "-"},
                        {}, limits, context.stop());
  if (!output) {
    if (output.error().code != ErrorCode::kNotFound) return output.error();
    return Error{
        ErrorCode::kUnavailable,
        output.error().message + "; PDFs are read with pdftotext: install poppler-utils, or set pdftotext_program"};
  }
  if (output->exit_code != 0) return explain(*output);
  const auto pages = std::count(output->out.begin(), output->out.end(), '\f');
  if (pages > limits.max_pdf_pages) {
    return Error{ErrorCode::kLimit,
                 "has more than " + std::to_string(limits.max_pdf_pages) + " pages (limits.max_pdf_pages)"};
  }
  return std::move(output->out);
}

}  // namespace

Status read_pdf(const Source& source, ReadContext& context) {
  if (source.file.size() > context.limits().max_file_bytes) {
    context.problem(source.path, 0, ErrorCode::kLimit,
                    std::to_string(source.file.size()) + " bytes, over the limit of " +
                        std::to_string(context.limits().max_file_bytes) + " (limits.max_file_bytes)");
    return {};
  }
  auto text = extract(source, context);
  if (Status going = context.check_stop(); !going) return going;
  if (!text) return context.problem(source.path, text.error().in(shown_path(source.path))), Status{};
  std::vector<std::size_t> starts = {0};
  for (std::size_t i = 0; i < text->size(); ++i) {
    if ((*text)[i] == '\f') starts.push_back(i + 1);
  }
  if (starts.back() == text->size() && starts.size() > 1) starts.pop_back();
  Document document = new_document(source, Format::kPdf);
  document.source_unit = SourceUnit::kExtractedText;
  set_text(document, *text);  // a form feed becomes a line end of the same length
  for (std::size_t page = 0; page < starts.size(); ++page) {
    const std::size_t begin = document.offsets.to_text({starts[page], text->size()}).begin;
    document.pages.push_back({static_cast<int>(page) + 1, begin});
  }
  return context.emit(std::move(document));
}

}  // namespace casemate
