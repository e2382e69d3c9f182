// formats/folder_walk.h
#pragma once

#include <functional>
#include <string>

#include "casemate/core/status.h"
#include "formats/read_context.h"

namespace casemate {

/// Calls `visit(path, name)` for each file at or below `root`, folders in the byte order of names; `name` is the path
/// below the root. What cannot be entered (unreadable, a link that loops, leaves the root or is broken, too deep) is a
/// problem. Error: what `visit` returned.
[[nodiscard]] Status walk_files(const std::string& root, ReadContext& context,
                                const std::function<Status(const std::string& path, const std::string& name)>& visit);

}  // namespace casemate
