// Any bytes as HTML or Markdown (by the first byte), and any bytes as the helper's answer.
#include "casemate/text/clean_text.h"
#include "formats/html_extract.h"
#include "formats/markdown_html.h"
#include "fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace casemate;
  if (size == 0) return 0;
  const std::string_view bytes = fuzz::as_text(data + 1, size - 1);
  if (data[0] % 3 == 2) {
    if (const auto answer = unpack(bytes, 1000)) fuzz::require_sound(answer->offsets, answer->text.size(), 1000);
    return 0;
  }
  std::string html = repair_utf8(bytes).text;
  if (data[0] % 3 == 1) {
    const auto from = markdown_to_html(html);
    if (!from) return 0;
    fuzz::require_sound(from->offsets, from->html.size(), html.size());
    html = from->html;
  }
  const auto page = extract_html(html, 64);
  if (!page) return 0;
  fuzz::require(fuzz::is_valid_utf8(page->text), "the text is valid UTF-8");
  fuzz::require_sound(page->offsets, page->text.size(), html.size());
  for (const Finding& finding : page->findings)
    fuzz::require(finding.source.begin <= finding.source.end && finding.source.end <= html.size(),
                  "findings lie in the source");
  const auto again = unpack(pack(*page), html.size());
  fuzz::require(again.ok(), "what the helper packs the library unpacks");
  fuzz::require(again->text == page->text && again->title == page->title && again->offsets == page->offsets,
                "and it is the same");
  return 0;
}
