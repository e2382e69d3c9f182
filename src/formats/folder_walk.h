// formats/folder_walk.h
#pragma once

#include <functional>
#include <string>

#include "casemate/core/status.h"
#include "formats/read_context.h"

namespace casemate {

/// A file that was found.
struct FoundFile {
  std::string path;  ///< as found
  std::string name;  ///< the path below the root; the file's own name where it was given itself
  std::string root;  ///< the folder that `name` counts from: absolute, without links
};

/// Calls `visit` for each file at or below `root`, folders in the byte order of names. What cannot be entered
/// (unreadable, a link that loops, leaves the root or is broken, too deep) is a problem. Error: what `visit` returned.
[[nodiscard]] Status walk_files(const std::string& root, ReadContext& context,
                                const std::function<Status(const FoundFile& file)>& visit);

}  // namespace casemate
