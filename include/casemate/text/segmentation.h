// casemate/text/segmentation.h
#pragma once

#include <string_view>
#include <vector>

#include "casemate/text/offset_map.h"

namespace casemate {

/// Sentences by Unicode's rules (UAX #29, root locale). The spans are in order and touch, so that together they are the
/// whole text; blanks belong to the sentence before them.
///
/// A blank line always ends a sentence. A single "\n" ends one only after a line of fewer than 40 bytes (headings, list
/// items, verse): longer lines are taken as wrapped. Any bytes are accepted; broken UTF-8 counts as U+FFFD. Linear.
[[nodiscard]] std::vector<ByteSpan> sentence_spans(std::string_view text);

/// Words by Unicode's rules, with a dictionary for Chinese, Japanese, Thai, Lao, Khmer and Burmese. Only words
/// (letters, digits, ideographs): blanks and punctuation lie between the spans. In order, not touching in general.
/// Linear.
[[nodiscard]] std::vector<ByteSpan> word_spans(std::string_view text);

/// `span` without blanks (space, tab, line ends) at either end.
[[nodiscard]] ByteSpan trimmed(std::string_view text, ByteSpan span);

}  // namespace casemate
