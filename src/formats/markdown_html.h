// formats/markdown_html.h
#pragma once

#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"

namespace casemate {

struct MarkdownHtml {
  std::string html;
  OffsetMap offsets;  ///< html -> the Markdown's bytes
};

/// Turns Markdown (CommonMark with GitHub's tables, strikethrough and autolinks) into HTML, raw HTML verbatim, so that
/// one reader judges what is hidden. Link targets are left out. Error: InvalidInput, Limit (over 2 GiB).
[[nodiscard]] Result<MarkdownHtml> markdown_to_html(std::string_view markdown);

}  // namespace casemate
