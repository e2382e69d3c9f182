#include "models/part_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "casemate/core/file_system.h"
#include "models/file_hasher.h"

namespace casemate {
namespace {

Error with_advice(Error error) {
  if (error.code == ErrorCode::kNoSpace) error.message += " (make room and run it again; it goes on where it stopped)";
  return error;
}

}  // namespace

Result<PartFile> PartFile::open(const std::string& path, std::uint64_t bytes) {
  if (Status made = FileSystem::posix().create_directories(parent_path(path)); !made) return with_advice(made.error());
  const std::string part = path + ".part";
  Descriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (fd.get() < 0) return with_advice(io_error(errno, "open for writing", part));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return io_error(errno, "inspect", part);
  PartFile file(std::move(fd), path, static_cast<std::uint64_t>(status.st_size), bytes);
  if (file.size_ <= bytes) return file;
  if (Status cleared = file.clear(); !cleared) return cleared.error();
  return file;
}

Status PartFile::append(std::string_view data) {
  if (data.size() > limit_ - size_) {
    return Error{ErrorCode::kMismatch, path_ + ": more than the " + std::to_string(limit_) + " bytes it should have"};
  }
  while (!data.empty()) {
    const ssize_t written = ::write(fd_.get(), data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return with_advice(io_error(errno, "write", path_ + ".part"));
    data.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status PartFile::clear() {
  if (::ftruncate(fd_.get(), 0) != 0) return io_error(errno, "truncate", path_ + ".part");
  size_ = 0;
  return {};
}

Status PartFile::finish(std::string_view sha256, const std::stop_token& stop) {
  const std::string part = path_ + ".part";
  const Result<std::string> hash = hash_file(part, stop);
  if (!hash) return hash.error();
  FileSystem& files = FileSystem::posix();
  if (*hash != sha256) {
    (void)files.remove(part);
    return Error{ErrorCode::kCorrupt,
                 path_ + ": SHA-256 is " + *hash + ", expected " + std::string(sha256) + "; discarded"};
  }
  if (::fsync(fd_.get()) != 0) return with_advice(io_error(errno, "sync", part));
  if (Status renamed = files.rename(part, path_); !renamed) return renamed.error();
  return files.sync_directory(parent_path(path_));
}

Result<std::string> hash_file(const std::string& path, const std::stop_token& stop,
                              const std::function<void(std::uint64_t)>& on_bytes) {
  const auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  FileHasher hasher;
  std::string buffer(1U << 20U, '\0');
  for (std::uint64_t at = 0; at < (*file)->size();) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, path + ": stopped"};
    const std::size_t length = std::min<std::uint64_t>(buffer.size(), (*file)->size() - at);
    if (Status read = (*file)->read(at, length, buffer.data()); !read) return read.error();
    hasher.update(std::string_view(buffer).substr(0, length));
    at += length;
    if (on_bytes) on_bytes(at);
  }
  return hasher.finish();
}

Result<std::uint64_t> free_bytes(const std::string& folder) {
  std::string at = folder;
  struct statvfs status {};
  while (::statvfs(at.c_str(), &status) != 0) {
    const std::string parent = parent_path(at);
    if (errno != ENOENT || parent == at) return io_error(errno, "inspect", at);
    at = parent;
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace casemate
