#include "models/import_model.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "casemate/core/clock.h"
#include "casemate/core/file_system.h"
#include "models/file_hasher.h"
#include "models/local_model.h"
#include "models/model_record.h"
#include "models/part_file.h"

namespace casemate {
namespace {

/// A folder beside the final one, removed unless it was renamed.
class StagingFolder {
 public:
  explicit StagingFolder(std::string path) : path_(std::move(path)) { remove(); }
  ~StagingFolder() { remove(); }
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path_;
};

/// Copies and hashes in one pass.
Result<ModelFile> copy_file(const std::string& from, const std::string& to, const std::stop_token& stop,
                            const std::function<void(std::uint64_t)>& on_bytes) {
  FileSystem& files = FileSystem::posix();
  const auto in = files.open(from);
  if (!in) return in.error();
  const auto out = files.create(to);
  if (!out) return out.error();
  FileHasher hasher;
  std::string buffer(1U << 20U, '\0');
  ModelFile file;
  for (std::uint64_t at = 0; at < (*in)->size();) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, from + ": stopped"};
    const std::size_t length = std::min<std::uint64_t>(buffer.size(), (*in)->size() - at);
    if (Status read = (*in)->read(at, length, buffer.data()); !read) return read.error();
    const std::string_view piece = std::string_view(buffer).substr(0, length);
    hasher.update(piece);
    if (Status written = (*out)->append(piece); !written) return written.error();
    at += length;
    on_bytes(at);
  }
  if (Status synced = (*out)->sync(); !synced) return synced.error();
  if (Status closed = (*out)->close(); !closed) return closed.error();
  file.bytes = (*in)->size();
  file.sha256 = hasher.finish();
  return file;
}

/// False where the two lie on different file systems, or the system does not allow it.
bool hard_link(const std::string& from, const std::string& to) {
  std::error_code code;
  const std::filesystem::path real = std::filesystem::canonical(from, code);  // caches of the hub are full of symlinks
  return !code && ::link(real.c_str(), to.c_str()) == 0;
}

Result<ModelFile> take_file(const std::string& from, const std::string& to, bool link, const std::stop_token& stop,
                            const std::function<void(std::uint64_t)>& on_bytes) {
  if (Status made = FileSystem::posix().create_directories(parent_path(to)); !made) return made.error();
  if (!link || !hard_link(from, to)) return copy_file(from, to, stop, on_bytes);
  ModelFile file;
  const Result<FileInfo> info = FileSystem::posix().info(to);
  if (!info) return info.error();
  file.bytes = info->size;
  Result<std::string> hash = hash_file(to, stop, on_bytes);
  if (!hash) return hash.error();
  file.sha256 = *std::move(hash);
  return file;
}

Status check_options(const ImportOptions& options, const LocalModel& local) {
  const bool gguf = local.files.front().ends_with(".gguf");
  if (options.purpose && gguf != (*options.purpose == ModelPurpose::kLanguageModel)) {
    return Error{ErrorCode::kInvalidOption,
                 "purpose " + std::string(model_purpose_name(*options.purpose)) + " does not fit " +
                     local.architecture + (gguf ? " (a .gguf is a language-model)" : " (language models are .gguf)")};
  }
  const auto& pooling = options.overrides.pooling;
  if (pooling && *pooling != "mean" && *pooling != "cls") {
    return Error{ErrorCode::kInvalidOption, "pooling must be mean or cls"};
  }
  return {};
}

ModelOverrides merged(ModelOverrides from_files, const ModelOverrides& given) {
  if (given.query_prefix) from_files.query_prefix = given.query_prefix;
  if (given.passage_prefix) from_files.passage_prefix = given.passage_prefix;
  if (given.pooling) from_files.pooling = given.pooling;
  return from_files;
}

Result<std::uint64_t> total_bytes(const LocalModel& local) {
  std::uint64_t total = 0;
  for (const std::string& name : local.files) {
    const Result<FileInfo> info = FileSystem::posix().info(join_path(local.folder, name));
    if (!info) return info.error();
    total += info->size;
  }
  return total;
}

}  // namespace

Status import_model(const std::string& root, const std::string& from, const std::string& name,
                    const ImportOptions& options, Progress& progress, const std::stop_token& stop) {
  FileSystem& files = FileSystem::posix();
  const std::string target = join_path(root, name);
  if (files.info(target).ok()) {
    return Error{ErrorCode::kAlreadyExists, target + ": is there already (choose another name, or remove it first)"};
  }
  const Result<LocalModel> local = inspect_local_model(from);
  if (!local) return local.error();
  if (Status valid = check_options(options, *local); !valid) return valid;
  const Result<std::uint64_t> total = total_bytes(*local);
  if (!total) return total.error();
  ModelRecord record;
  record.entry.name = name;
  record.entry.purpose = options.purpose.value_or(local->purpose);
  record.entry.licence = options.licence.empty() ? "unknown" : options.licence;
  record.entry.description = options.description.empty() ? local->architecture : options.description;
  record.created = format_utc(Clock::system().unix_seconds());
  record.overrides = merged(local->overrides, options.overrides);
  const StagingFolder staging(join_path(root, "." + name + ".import"));
  progress.begin("import " + name, *total, "bytes");
  std::uint64_t done = 0;
  for (const std::string& file : local->files) {
    auto taken = take_file(join_path(local->folder, file), join_path(staging.path(), file), options.hard_link, stop,
                           [&](std::uint64_t bytes) { progress.update(done + bytes); });
    if (!taken) {
      progress.end();
      return taken.error().in("import " + name);
    }
    taken->name = file;
    done += taken->bytes;
    record.entry.files.push_back(*std::move(taken));
  }
  progress.end();
  const std::string record_path = join_path(staging.path(), kModelRecordName);
  if (Status written = write_file_atomically(files, record_path, write_model_record(record)); !written) return written;
  if (Status moved = files.rename(staging.path(), target); !moved) return moved;
  return files.sync_directory(root);
}

}  // namespace casemate
