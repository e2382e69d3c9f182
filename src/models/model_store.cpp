#include "casemate/models/model_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "casemate/core/file_system.h"
#include "casemate/core/nearest_name.h"
#include "casemate/core/untrusted_text.h"
#include "models/import_model.h"
#include "models/model_check.h"
#include "models/model_folder_lock.h"
#include "models/model_record.h"
#include "models/pull_model.h"
#include "models/safe_name.h"

namespace casemate {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"absent", "partial", "damaged", "present"};
constexpr std::array<std::string_view, 5> kChecks = {"ok", "missing", "wrong size", "wrong hash", "unreadable"};

StoredModel manifest_model(const std::string& root, const ModelEntry& entry) {
  StoredModel info;
  info.entry = entry;
  inspect_model(root, info);
  return info;
}

/// Nothing where the folder holds no record at all.
std::optional<StoredModel> imported_model(const std::string& root, const std::string& name) {
  const std::string folder = join_path(root, name);
  Result<ModelRecord> record = read_model_record(folder);
  StoredModel info;
  info.imported = true;
  if (!record) {
    if (record.error().code == ErrorCode::kNotFound) return std::nullopt;
    info.entry.name = name;
    info.state = ModelState::kDamaged;
    info.detail = record.error().message;
    info.remedy = "remove " + folder + ", then: casemate models import PATH --name " + name;
    info.path = folder;
    return info;
  }
  info.entry = std::move(record->entry);
  info.created = std::move(record->created);
  info.overrides = std::move(record->overrides);
  inspect_model(root, info);
  return info;
}

Status check_options(const PullOptions& options) {
  if (!options.source.empty()) {
    if (auto known = parse_source_name(options.source); !known) return known.error();
  }
  for (const auto& [name, value] : {std::pair("pip_timeout_ms", options.pip_timeout_ms),
                                    std::pair("connect_timeout_ms", options.connect_timeout_ms),
                                    std::pair("idle_timeout_ms", options.idle_timeout_ms)}) {
    if (value < 1) {
      return Error{ErrorCode::kInvalidOption, std::string(name) + " must be at least 1, not " + std::to_string(value)};
    }
  }
  return {};
}

}  // namespace

std::string_view model_state_name(ModelState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }
std::string_view file_check_name(FileCheck::State state) noexcept { return kChecks[static_cast<std::size_t>(state)]; }

bool VerifyReport::ok() const noexcept {
  return std::all_of(files.begin(), files.end(), [](const FileCheck& f) { return f.state == FileCheck::State::kOk; });
}

Result<ModelStore> ModelStore::open(std::string root, Manifest manifest) {
  if (root.empty()) return Error{ErrorCode::kInvalidArgument, "the folder of the models must be named"};
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return ModelStore(std::move(root), std::move(manifest));
}

Result<std::vector<StoredModel>> ModelStore::list() const {
  std::vector<StoredModel> models;
  for (const ModelEntry& entry : manifest_.models) models.push_back(manifest_model(root_, entry));
  const auto names = FileSystem::posix().list(root_);
  if (!names) {
    if (names.error().code == ErrorCode::kNotFound) return models;
    return names.error();
  }
  for (const std::string& name : *names) {
    if (!is_model_name(name) || manifest_.find(name) != nullptr) continue;
    if (auto info = imported_model(root_, name)) models.push_back(*std::move(info));
  }
  return models;
}

Result<StoredModel> ModelStore::find(std::string_view name) const {
  if (Status valid = check_model_name(name); !valid) return valid.error();
  if (const ModelEntry* entry = manifest_.find(name)) return manifest_model(root_, *entry);
  if (auto info = imported_model(root_, std::string(name))) return *std::move(info);
  std::vector<std::string> known;
  if (const auto models = list(); models.ok()) {
    for (const StoredModel& model : *models) known.push_back(model.entry.name);
  }
  return Error{ErrorCode::kNotFound, "there is no model " + std::string(name) + name_hint(name, known)};
}

Result<std::string> ModelStore::path_of(std::string_view name) const {
  Result<StoredModel> info = find(name);
  if (!info) return info.error();
  if (info->state == ModelState::kPresent) return std::move(info->path);
  const ErrorCode code = info->state == ModelState::kDamaged ? ErrorCode::kCorrupt : ErrorCode::kUnavailable;
  return Error{code, "model " + info->entry.name + " is " + std::string(model_state_name(info->state)) + " (" +
                         info->detail + "): " + info->remedy};
}

Result<PullReport> ModelStore::pull(std::string_view name, const PullOptions& options, Progress& progress,
                                    const std::stop_token& stop) const {
  const Result<StoredModel> info = find(name);
  if (!info) return info.error();
  if (info->imported) {
    return Error{ErrorCode::kUnsupported,
                 info->entry.name + " was imported, so there is no source to fetch it from; import it again"};
  }
  if (Status valid = check_options(options); !valid) return valid.error();
  const Result<ModelFolderLock> lock = ModelFolderLock::acquire(root_, name, progress, stop);
  if (!lock) return lock.error();
  return pull_model(root_, info->entry, options, progress, stop);
}

Result<VerifyReport> ModelStore::verify(std::string_view name, Progress& progress, const std::stop_token& stop) const {
  const Result<StoredModel> info = find(name);
  if (!info) return info.error();
  if (info->entry.files.empty()) {  // an imported model whose record is broken
    VerifyReport report{info->entry.name, {}};
    report.files.push_back({kModelRecordName, FileCheck::State::kUnreadable, "", info->detail});
    return report;
  }
  return verify_model(root_, info->entry, progress, stop);
}

Result<StoredModel> ModelStore::import(const std::string& from, std::string_view name, const ImportOptions& options,
                                       Progress& progress, const std::stop_token& stop) const {
  if (Status valid = check_model_name(name); !valid) return valid.error();
  if (manifest_.find(name) != nullptr) {
    return Error{ErrorCode::kAlreadyExists,
                 std::string(name) + " is a model of the manifest; import under another name"};
  }
  const Result<ModelFolderLock> lock = ModelFolderLock::acquire(root_, name, progress, stop);
  if (!lock) return lock.error();
  if (Status taken = import_model(root_, from, std::string(name), options, progress, stop); !taken) {
    return taken.error();
  }
  return find(name);
}

}  // namespace casemate
