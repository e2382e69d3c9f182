// tests/support/paths.h
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace casemate::test {

/// A file of tests/golden/.
inline std::string golden_path(const std::string& name) {
  return std::string(CASEMATE_SOURCE_DIR) + "/tests/golden/" + name;
}

/// The folder of a model that `casemate models pull` fetched, or nothing where it is not here.
inline std::optional<std::string> model_folder(const std::string& name) {
  std::string root;
  if (const char* models = std::getenv("CASEMATE_MODELS")) {
    root = models;
  } else if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    root = std::string(cache) + "/casemate/models";
  } else if (const char* home = std::getenv("HOME")) {
    root = std::string(home) + "/.cache/casemate/models";
  }
  const std::string folder = root + "/" + name;
  std::error_code ignored;
  if (root.empty() || !std::filesystem::is_directory(folder, ignored)) return std::nullopt;
  return folder;
}

/// A data set's folder: $CASEMATE_DATA, else ../shared/data beside the source tree.
inline std::optional<std::string> data_folder(const std::string& name) {
  const char* data = std::getenv("CASEMATE_DATA");
  const std::string folder =
      (data != nullptr ? std::string(data) : std::string(CASEMATE_SOURCE_DIR) + "/../shared/data") + "/" + name;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return std::nullopt;
  return folder;
}

}  // namespace casemate::test
