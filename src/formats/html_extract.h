// formats/html_extract.h
#pragma once

#include <string_view>

#include "casemate/core/status.h"
#include "formats/markup_result.h"

namespace casemate {

/// Reads the text of an HTML page that a person sees, and reports the rest (docs/formats.md). `html` is valid UTF-8.
/// gumbo does the parsing: it aborts without memory and takes quadratic time on deep nesting, so this runs in the
/// reader program only. Error: Limit where elements nest deeper than `max_nesting`.
[[nodiscard]] Result<MarkupResult> extract_html(std::string_view html, int max_nesting);

}  // namespace casemate
