// Any bytes through each door of UntrustedText: nothing that the target would act on comes out.
#include "casemate/core/untrusted_text.h"

#include "fuzz_support.h"

namespace {

using namespace casemate;

void require_harmless(const std::string& text, bool newlines, bool invisible) {
  fuzz::require(fuzz::is_valid_utf8(text), "what comes out is valid UTF-8");
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text, at);
    const bool blank = point.value == '\t' || (newlines && point.value == '\n');
    fuzz::require(!is_control(point.value) || blank, "no control character comes out");
    fuzz::require(invisible || !is_invisible(point.value), "nothing invisible comes out");
    at += point.length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const UntrustedText text(std::string(fuzz::as_text(data, size)));
  require_harmless(text.for_terminal(), true, false);
  require_harmless(text.for_log(), false, false);
  fuzz::require(text.for_log().size() <= 200 + 16 + 3, "a log line is bounded");
  require_harmless(text.for_prompt(), true, true);
  const std::string html = text.for_html();
  require_harmless(html, true, true);
  fuzz::require(html.find_first_of("<>\"'") == std::string::npos, "no markup comes out");
  fuzz::require(fuzz::is_valid_utf8(text.for_json()), "JSON text is valid UTF-8");
  return 0;
}
