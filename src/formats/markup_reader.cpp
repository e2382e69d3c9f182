#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "casemate/core/file_system.h"
#include "formats/markup_result.h"
#include "formats/readers.h"
#include "formats/reading_child.h"

namespace casemate {
namespace {

// A sanitized program reserves terabytes of addresses for its shadow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitAddresses = false;
#else
constexpr bool kLimitAddresses = true;
#endif

Result<std::string> find_reader_program(const std::string& given) {
  if (!given.empty()) {
    if (::access(given.c_str(), X_OK) == 0) return given;
    return Error{ErrorCode::kNotFound,
                 "the program " + shown_path(given) + " (reader_program) is missing or may not be run"};
  }
  std::array<char, 4096> buffer{};
  const ssize_t length = ::readlink("/proc/self/exe", buffer.data(), buffer.size() - 1);
  const std::string folder =
      length > 0 ? parent_path(std::string(buffer.data(), static_cast<std::size_t>(length))) : ".";
  for (const char* place : {"/casemate-reader", "/../libexec/casemate/casemate-reader"}) {
    std::string program = folder + place;
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return Error{ErrorCode::kNotFound, "the program casemate-reader, which parses HTML and Markdown, is neither in " +
                                         shown_path(folder) +
                                         " nor in ../libexec/casemate from there; set reader_program"};
}

Error explain(const ChildOutput& output, const ReadLimits& limits, std::string_view kind) {
  const std::string said = UntrustedText(output.err).for_log();
  if (output.exit_code == 1 && !said.empty()) return Error{ErrorCode::kInvalidInput, said};
  if (output.exit_code == 3 && !said.empty()) return Error{ErrorCode::kLimit, said};
  if (output.exit_code == 4) {
    return Error{ErrorCode::kLimit, "parsing it takes more than " + std::to_string(limits.child_memory_bytes) +
                                        " bytes of memory (limits.child_memory_bytes)"};
  }
  return Error{ErrorCode::kInvalidInput, "the " + std::string(kind) + " parser " + describe_end(output)};
}

Result<MarkupResult> parse(std::string_view bytes, Format format, const ReadContext& context) {
  const ReadOptions& options = context.options();
  const auto program = find_reader_program(options.reader_program);
  if (!program) return program.error();
  const ReadLimits& limits = options.limits;
  const auto output =
      run_reading_child(*program, {std::string(format_name(format)), std::to_string(limits.max_nesting)}, bytes, limits,
                        context.stop(), kLimitAddresses);
  if (!output) return output.error();
  if (output->exit_code != 0) return explain(*output, limits, format_name(format));
  return unpack(output->out, bytes.size());
}

}  // namespace

Status read_markup(const Source& source, Format format, ReadContext& context) {
  const auto bytes = source.file.read_all(context.limits().max_file_bytes);
  if (!bytes) return context.problem(source.path, bytes.error()), Status{};
  CleanText repaired = repair_utf8(*bytes);
  if (repaired.text.starts_with("\xEF\xBB\xBF")) {
    OffsetMap without_mark;
    without_mark.append(repaired.text.size() - 3, {3, repaired.text.size()});
    repaired.offsets = without_mark.after(repaired.offsets);
    repaired.text.erase(0, 3);
  }
  auto page = parse(repaired.text, format, context);
  if (Status going = context.check_stop(); !going) return going;
  if (!page) return context.problem(source.path, page.error().in(shown_path(source.path))), Status{};
  Document document = new_document(source, format);
  document.findings = std::move(repaired.findings);
  for (Finding& finding : page->findings) {
    finding.source = repaired.offsets.to_source(finding.source);
    document.findings.push_back(std::move(finding));
  }
  document.title = cleaned_title(page->title, document);
  if (!page->dropped.empty()) document.metadata["dropped_elements"] = page->dropped;
  set_text(document, page->text, page->offsets.after(repaired.offsets));
  return context.emit(std::move(document));
}

}  // namespace casemate
