// casemate/attack/craft_cache.h
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// Keeps what crafting found out at great cost, so that a killed run goes on and the conditions of an experiment share
/// it. What an attack crafts does not depend on it. Thread-safe.
class CraftCache {
 public:
  virtual ~CraftCache() = default;
  [[nodiscard]] virtual std::optional<std::string> find(std::string_view key) const = 0;
  /// A later value of the same key takes the place of an earlier one. Error: what the file says.
  [[nodiscard]] virtual Status put(std::string_view key, std::string_view value) = 0;
};

/// A cache in a file of JSON lines, {"key", "value"}, which is only appended to. A torn last line, as a kill leaves it,
/// is cut off. Keys and values must be valid UTF-8. Error: Io, NoSpace, Permission; InvalidInput with path and line
/// where the file holds something else.
[[nodiscard]] Result<std::unique_ptr<CraftCache>> open_craft_cache(const std::string& path);

}  // namespace casemate
