#include "models/model_check.h"

#include <algorithm>

#include "casemate/core/file_system.h"
#include "models/part_file.h"

namespace casemate {
namespace {

std::string size_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// The command that makes the model whole.
std::string mend(const StoredModel& info) {
  if (!info.imported) return "casemate models pull " + info.entry.name;
  return "remove its folder, then: casemate models import PATH --name " + info.entry.name;
}

FileCheck check_file(const std::string& path, const ModelFile& file, const std::stop_token& stop,
                     const std::function<void(std::uint64_t)>& on_bytes) {
  FileCheck check;
  check.name = file.name;
  check.expected = file.sha256;
  const Result<FileInfo> info = FileSystem::posix().info(path);
  if (!info.ok() && info.error().code == ErrorCode::kNotFound) {
    check.state = FileCheck::State::kMissing;
    return check;
  }
  if (info.ok() && info->is_regular && info->size != file.bytes) {
    check.state = FileCheck::State::kWrongSize;
    check.expected = size_text(file.bytes);
    check.found = size_text(info->size);
    return check;
  }
  const Result<std::string> hash = hash_file(path, stop, on_bytes);
  if (!hash) {
    check.state = FileCheck::State::kUnreadable;
    check.found = hash.error().message;
    return check;
  }
  check.found = *hash;
  if (*hash != file.sha256) check.state = FileCheck::State::kWrongHash;
  return check;
}

}  // namespace

void inspect_model(const std::string& root, StoredModel& info) {
  const std::string folder = join_path(root, info.entry.name);
  const auto& files = info.entry.files;
  const bool gguf = files.size() == 1 && files.front().name.ends_with(".gguf");
  info.path = gguf ? join_path(folder, files.front().name) : folder;
  std::size_t whole = 0;
  std::size_t begun = 0;
  std::string missing;
  std::string wrong;
  for (const ModelFile& file : files) {
    const std::string path = join_path(folder, file.name);
    const Result<FileInfo> found = FileSystem::posix().info(path);
    if (found.ok() && found->is_regular && found->size == file.bytes) {
      ++whole;
    } else if (found.ok()) {
      wrong = file.name + " has " + size_text(found->size) + ", expected " + size_text(file.bytes);
    } else {
      if (missing.empty()) missing = file.name;
      if (FileSystem::posix().info(path + ".part").ok()) ++begun;
    }
  }
  info.detail.clear();
  info.remedy.clear();
  if (!wrong.empty()) {
    info.state = ModelState::kDamaged;
    info.detail = wrong;
  } else if (whole == files.size()) {
    info.state = ModelState::kPresent;
    return;
  } else if (whole + begun > 0) {
    info.state = info.imported ? ModelState::kDamaged : ModelState::kPartial;
    info.detail = std::to_string(files.size() - whole) + " of " + std::to_string(files.size()) +
                  " files are not complete, the first is " + missing;
  } else {
    info.state = info.imported ? ModelState::kDamaged : ModelState::kAbsent;
    info.detail = info.imported ? "its files are gone" : "not fetched yet";
  }
  info.remedy = mend(info);
}

Result<VerifyReport> verify_model(const std::string& root, const ModelEntry& entry, Progress& progress,
                                  const std::stop_token& stop) {
  VerifyReport report;
  report.name = entry.name;
  const std::string folder = join_path(root, entry.name);
  progress.begin("verify " + entry.name, entry.bytes(), "bytes");
  std::uint64_t done = 0;
  for (const ModelFile& file : entry.files) {
    report.files.push_back(check_file(join_path(folder, file.name), file, stop,
                                      [&](std::uint64_t bytes) { progress.update(done + bytes); }));
    done += file.bytes;
    if (stop.stop_requested()) break;
  }
  progress.end();
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "verify " + entry.name + ": stopped"};
  return report;
}

}  // namespace casemate
