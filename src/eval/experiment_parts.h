// What the files of all kinds of experiments have in common.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "casemate/core/yaml_options.h"
#include "casemate/eval/data_set.h"

namespace casemate {

/// Whether the file says `kind: KIND`.
[[nodiscard]] bool has_kind(const YamlValue& root, std::string_view kind);

/// `data: {format, path, corpus: {format, path}}`: questions, and passages in the same place or in the corpus. Error:
/// InvalidOption for a format that is not known (naming the nearest) or does not hold what is looked for there.
[[nodiscard]] Result<DataSource> read_data_source(const YamlValue& data);

/// Calls `visit` with every text that a list's entries stand for (see expand_grid). Error: what `visit` says, at the
/// entry; what expand_grid says.
[[nodiscard]] Status expand_each(const YamlValue& list, const std::function<Status(const std::string& text)>& visit);

}  // namespace casemate
