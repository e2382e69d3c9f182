#include "casemate/models/manifest.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "casemate/core/file_system.h"
#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/yaml_options.h"
#include "models/safe_name.h"

namespace casemate {

/// Defined by the file that the build makes from models/manifest.yaml.
std::string_view manifest_text();

namespace {

constexpr std::array<std::string_view, 4> kPurposes = {"encoder", "language-model", "reader", "reranker"};
constexpr std::array<std::string_view, 2> kSources = {"hugging-face", "pypi"};
constexpr std::uint64_t kMaxFileBytes = UINT64_C(4'000'000'000'000);
constexpr std::size_t kMaxModels = 1000;
constexpr std::size_t kMaxFiles = 1000;

std::string quoted(std::string_view text) { return "\"" + UntrustedText(std::string(text)).for_log(80) + "\""; }

template <std::size_t n>
Result<std::size_t> index_of(std::string_view name, const std::array<std::string_view, n>& names,
                             std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return Error{ErrorCode::kInvalidOption, quoted(name) + " is no " + std::string(what) +
                                              name_hint(name, std::span<const std::string_view>(names))};
}

Error refuse(const YamlValue& at, const std::string& message) { return at.error(ErrorCode::kInvalidInput, message); }

Result<HubSource> read_hub(const YamlValue& value) {
  HubSource hub;
  YamlOptions options(value);
  options.read("repository", hub.repository).required().read("revision", hub.revision).required();
  options.read("file", hub.file).required();
  if (Status read = options.finish(); !read) return read.error();
  if (!is_safe_path(hub.repository) || std::count(hub.repository.begin(), hub.repository.end(), '/') != 1) {
    return refuse(value, "repository must be owner/name, not " + quoted(hub.repository));
  }
  if (!is_safe_path(hub.revision)) return refuse(value, "revision " + quoted(hub.revision) + " can be none");
  if (!is_safe_path(hub.file)) return refuse(value, "file " + quoted(hub.file) + " is no safe path");
  return hub;
}

Result<WheelSource> read_wheel(const YamlValue& value, std::uint64_t file_bytes) {
  WheelSource wheel;
  std::optional<YamlValue> sizes;
  YamlOptions options(value);
  options.read("packages", wheel.packages).required().read("members", wheel.members).required();
  options.read("member_bytes", sizes);
  if (Status read = options.finish(); !read) return read.error();
  if (wheel.packages.empty() || wheel.members.empty()) return refuse(value, "packages and members must not be empty");
  if (wheel.packages.size() != 1 && wheel.packages.size() != wheel.members.size()) {
    return refuse(value, "there must be one package, or one for each member");
  }
  for (const std::string& package : wheel.packages) {
    if (!is_pinned_package(package)) return refuse(value, "package " + quoted(package) + " must be name==version");
  }
  for (const std::string& member : wheel.members) {
    if (!is_safe_path(member)) return refuse(value, "member " + quoted(member) + " is no safe path");
  }
  if (!sizes) {
    if (wheel.members.size() > 1) return refuse(value, "member_bytes is missing: several members need their sizes");
    wheel.member_bytes = {file_bytes};
    return wheel;
  }
  const Result<std::vector<YamlValue>> list = sizes->list();
  if (!list) return list.error();
  for (const YamlValue& size : *list) {
    const Result<std::int64_t> bytes = size.integer(1, static_cast<std::int64_t>(kMaxFileBytes));
    if (!bytes) return bytes.error();
    wheel.member_bytes.push_back(static_cast<std::uint64_t>(*bytes));
  }
  if (wheel.member_bytes.size() != wheel.members.size()) return refuse(*sizes, "must have one size for each member");
  const std::uint64_t sum = std::accumulate(wheel.member_bytes.begin(), wheel.member_bytes.end(), std::uint64_t{0});
  if (sum != file_bytes) {
    return refuse(*sizes, "add up to " + std::to_string(sum) + ", the file has " + std::to_string(file_bytes));
  }
  return wheel;
}

Result<ModelSource> read_source(const YamlValue& value, std::uint64_t file_bytes) {
  std::optional<YamlValue> hub;
  std::optional<YamlValue> wheel;
  YamlOptions options(value);
  options.read("hugging-face", hub).read("pypi", wheel);
  if (Status read = options.finish(); !read) return read.error();
  if (hub.has_value() == wheel.has_value()) {
    return refuse(value, "a source must have either hugging-face or pypi");
  }
  ModelSource source;
  if (hub) {
    source.kind = ModelSource::Kind::kHuggingFace;
    auto read = read_hub(*hub);
    if (!read) return read.error();
    source.hub = *std::move(read);
  } else {
    source.kind = ModelSource::Kind::kPypi;
    auto read = read_wheel(*wheel, file_bytes);
    if (!read) return read.error();
    source.wheel = *std::move(read);
  }
  return source;
}

Result<ModelFile> read_model_file(const YamlValue& value) {
  ModelFile file;
  std::optional<YamlValue> sources;
  YamlOptions options(value);
  options.read("name", file.name).required().read("bytes", file.bytes, 1, kMaxFileBytes).required();
  options.read("sha256", file.sha256).required().read("sources", sources).required();
  if (Status read = options.finish(); !read) return read.error();
  if (!is_safe_file_name(file.name)) return refuse(value, "file name " + quoted(file.name) + " is no safe path");
  if (!is_sha256(file.sha256)) {
    return refuse(value, "sha256 must be 64 lowercase hexadecimal digits, not " + quoted(file.sha256));
  }
  const Result<std::vector<YamlValue>> list = sources->list();
  if (!list) return list.error();
  if (list->empty()) return refuse(*sources, "must name at least one source");
  for (const YamlValue& item : *list) {
    auto source = read_source(item, file.bytes);
    if (!source) return source.error();
    file.sources.push_back(*std::move(source));
  }
  return file;
}

Result<ModelEntry> read_model(const YamlValue& value) {
  ModelEntry entry;
  std::string purpose;
  std::optional<YamlValue> files;
  YamlOptions options(value);
  options.read("name", entry.name).required().read("purpose", purpose).required();
  options.read("licence", entry.licence).required().read("description", entry.description).required();
  options.read("files", files).required();
  if (Status read = options.finish(); !read) return read.error();
  if (Status name = check_model_name(entry.name); !name) return refuse(value, name.error().message);
  const Result<ModelPurpose> known = parse_model_purpose(purpose);
  if (!known) return refuse(value, known.error().message);
  entry.purpose = *known;
  const Result<std::vector<YamlValue>> list = files->list();
  if (!list) return list.error();
  if (list->empty() || list->size() > kMaxFiles) return refuse(*files, "must be 1 to " + std::to_string(kMaxFiles));
  std::set<std::string> seen;
  for (const YamlValue& item : *list) {
    auto file = read_model_file(item);
    if (!file) return file.error();
    if (!seen.insert(file->name).second) return refuse(item, "file " + quoted(file->name) + " stands here twice");
    entry.files.push_back(*std::move(file));
  }
  return entry;
}

}  // namespace

std::string_view model_purpose_name(ModelPurpose purpose) noexcept {
  return kPurposes[static_cast<std::size_t>(purpose)];
}

Result<ModelPurpose> parse_model_purpose(std::string_view name) {
  const Result<std::size_t> index = index_of(name, kPurposes, "purpose of a model");
  if (!index) return index.error();
  return static_cast<ModelPurpose>(*index);
}

std::string_view source_name(ModelSource::Kind kind) noexcept { return kSources[static_cast<std::size_t>(kind)]; }

Result<ModelSource::Kind> parse_source_name(std::string_view name) {
  const Result<std::size_t> index = index_of(name, kSources, "source of models");
  if (!index) return index.error();
  return static_cast<ModelSource::Kind>(*index);
}

std::uint64_t ModelEntry::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const ModelFile& file : files) sum += file.bytes;
  return sum;
}

const ModelEntry* Manifest::find(std::string_view name) const noexcept {
  const auto found = std::find_if(models.begin(), models.end(), [&](const ModelEntry& m) { return m.name == name; });
  return found == models.end() ? nullptr : &*found;
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view name) {
  const Result<YamlValue> root = YamlValue::parse(text, name);
  if (!root) return root.error();
  std::optional<YamlValue> models;
  YamlOptions options(*root);
  options.read("models", models).required();
  if (Status read = options.finish(); !read) return read.error();
  const Result<std::vector<YamlValue>> list = models->list();
  if (!list) return list.error();
  if (list->size() > kMaxModels) return refuse(*models, "more than " + std::to_string(kMaxModels) + " models");
  Manifest manifest;
  for (const YamlValue& item : *list) {
    auto model = read_model(item);
    if (!model) return model.error();
    if (manifest.find(model->name) != nullptr)
      return refuse(item, "model " + quoted(model->name) + " stands here twice");
    manifest.models.push_back(*std::move(model));
  }
  return manifest;
}

Result<Manifest> load_manifest(const std::string& path) {
  const Result<std::string> text = read_file(path, 16'000'000);
  if (!text) return text.error();
  return parse_manifest(*text, path);
}

Result<Manifest> builtin_manifest() { return parse_manifest(manifest_text(), "models/manifest.yaml (built in)"); }

Status check_model_name(std::string_view name) {
  if (is_model_name(name)) return {};
  return Error{
      ErrorCode::kInvalidArgument,
      quoted(name) + " can be no name of a model (1 to 64 of a-z 0-9 . _ -, beginning with a letter or digit)"};
}

}  // namespace casemate
