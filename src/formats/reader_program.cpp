// casemate-reader: parses one HTML or Markdown document from standard input in a process of its own, so that what a
// hostile page does to the parser ends here. The library starts it (formats/markup_reader.cpp) and checks its answer.
//   casemate-reader html|markdown MAX_NESTING < page > packed MarkupResult
// Codes: 0 done; 1 the document was refused, 3 it passed a limit (a sentence on stderr); 2 wrong use; 4 out of memory.

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#include "formats/html_extract.h"
#include "formats/markdown_html.h"
#include "formats/markup_result.h"

namespace {

using casemate::Error;
using casemate::MarkupResult;
using casemate::Result;

bool read_input(std::string& input) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) return true;
    input.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool write_output(std::string_view output) {
  while (!output.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, output.data(), output.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    output.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<MarkupResult> extract_markdown(std::string_view input, int max_nesting) {
  auto html = casemate::markdown_to_html(input);
  if (!html) return html.error();
  auto result = casemate::extract_html(html->html, max_nesting);
  if (!result) return result;
  result->offsets = result->offsets.after(html->offsets);
  for (casemate::Finding& finding : result->findings) finding.source = html->offsets.to_source(finding.source);
  return result;
}

int run(std::string_view kind, int max_nesting) {
  std::string input;
  if (!read_input(input)) return 2;
  const auto result =
      kind == "html" ? casemate::extract_html(input, max_nesting) : extract_markdown(input, max_nesting);
  if (!result) {
    std::fputs(result.error().message.c_str(), stderr);
    return result.error().code == casemate::ErrorCode::kLimit ? 3 : 1;
  }
  return write_output(casemate::pack(*result)) ? 0 : 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view kind = count == 3 ? arguments[1] : "";
  const int max_nesting = count == 3 ? std::atoi(arguments[2]) : 0;
  if ((kind != "html" && kind != "markdown") || max_nesting < 1) {
    std::fputs("casemate-reader is started by casemate; it is not for use by hand\n", stderr);
    return 2;
  }
  try {
    const int code = run(kind, max_nesting);
    std::fflush(stderr);
    // Without destructors: nothing here needs them, and the parse tree is large.
    std::_Exit(code);
  } catch (const std::bad_alloc&) {
    std::_Exit(4);
  }
}
