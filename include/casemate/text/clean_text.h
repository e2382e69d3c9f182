// casemate/text/clean_text.h
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "casemate/text/finding.h"
#include "casemate/text/offset_map.h"

namespace casemate {

/// A text fit for tokenizers and people, where each byte came from, and what was kept out of it.
struct CleanText {
  std::string text;               ///< valid UTF-8, lines end with "\n", no controls but tab and "\n"
  OffsetMap offsets;              ///< text -> the bytes given
  std::vector<Finding> findings;  ///< spans in the bytes given
};

/// Cleans any bytes. Never fails; linear in time and memory. Characters stay as they are (no normalisation), but
/// - a broken UTF-8 sequence becomes U+FFFD (one finding with their number);
/// - CR LF, CR, form feed, vertical tab, NEL, U+2028 and U+2029 become "\n"; a byte order mark at the start goes;
/// - other C0 and C1 controls, bidirectional controls and invisible characters are kept out and reported. Those that
///   lie within 16 bytes of each other are one finding.
///
/// Characters that show nothing but belong to a writing system stay:
/// - U+200D between two pictographs (after an optional U+FE0F or skin tone): one emoji;
/// - U+200C and U+200D after a letter or mark of Arabic, Syriac, N'Ko, Mandaic, Mongolian or an Indic script;
/// - one U+FE0E or U+FE0F after an emoji; after a digit, # or * only before U+20E3 (a keycap);
/// - one of U+FE00-FE02 or U+E0100-E01EF after an ideograph; one of U+180B-180F after a Mongolian letter;
/// - the tag sequences of the flags of England, Scotland and Wales after U+1F3F4;
/// - U+115F and U+1160 next to another conjoining Hangul letter.
[[nodiscard]] CleanText clean_text(std::string_view bytes);

/// Only the first of these: `bytes` with each broken sequence as U+FFFD, for parsers that want valid UTF-8.
[[nodiscard]] CleanText repair_utf8(std::string_view bytes);

}  // namespace casemate
