// formats/markup_result.h
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/finding.h"
#include "casemate/text/offset_map.h"

namespace casemate {

/// What was read from HTML or Markdown.
struct MarkupResult {
  std::string title;
  std::string text;
  OffsetMap offsets;              ///< text -> the markup's bytes
  std::vector<Finding> findings;  ///< spans in the markup's bytes
  std::string dropped;            ///< elements that are not text: "script 3, style 1"; empty where there are none
};

/// As bytes, from the helper to the library.
[[nodiscard]] std::string pack(const MarkupResult& result);
/// The reverse. The bytes are not trusted: every length and offset is checked (sources lie within `source_size`).
/// Error: InvalidInput.
[[nodiscard]] Result<MarkupResult> unpack(std::string_view bytes, std::size_t source_size);

}  // namespace casemate
