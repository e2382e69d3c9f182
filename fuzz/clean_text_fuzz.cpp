// Any bytes cleaned: valid UTF-8 without controls, an exact way back, findings inside the source, and nothing left to
// do.
#include "casemate/text/clean_text.h"

#include "fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace casemate;
  const std::string_view bytes = fuzz::as_text(data, size);
  const CleanText clean = clean_text(bytes);
  fuzz::require(fuzz::is_valid_utf8(clean.text), "clean text is valid UTF-8");
  for (std::size_t at = 0; at < clean.text.size();) {
    const CodePoint point = read_code_point(clean.text, at);
    fuzz::require(!is_control(point.value) || point.value == '\n' || point.value == '\t', "no control is left");
    at += point.length;
  }
  fuzz::require_sound(clean.offsets, clean.text.size(), size);
  for (const Finding& finding : clean.findings)
    fuzz::require(finding.source.begin <= finding.source.end && finding.source.end <= size,
                  "findings lie in the source");
  for (const OffsetMap::Piece& piece : clean.offsets.pieces()) {
    const ByteSpan back = clean.offsets.to_source(piece.text);
    fuzz::require(back.begin <= piece.source.begin && back.end >= piece.source.end, "the way back holds the source");
  }
  const CleanText repaired = repair_utf8(bytes);
  fuzz::require(fuzz::is_valid_utf8(repaired.text), "repaired text is valid UTF-8");
  fuzz::require_sound(repaired.offsets, repaired.text.size(), size);
  const OffsetMap both = clean_text(repaired.text).offsets.after(repaired.offsets);
  fuzz::require_sound(both, both.text_size(), size);
  return 0;
}
