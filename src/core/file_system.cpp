#include "casemate/core/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/descriptor.h"

namespace casemate {
namespace {

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Status append(std::string_view data) override {
    while (!data.empty()) {
      const ssize_t written = ::write(fd_.get(), data.data(), data.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return io_error(errno, "write", path_);
      data.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
  Status sync() override {
    if (::fsync(fd_.get()) != 0) return io_error(errno, "sync", path_);
    return {};
  }
  Status close() override {
    const int fd = fd_.release();
    if (fd >= 0 && ::close(fd) != 0) return io_error(errno, "close", path_);
    return {};
  }

 private:
  Descriptor fd_;
  std::string path_;
};

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(int fd, std::uint64_t size, std::string path) : fd_(fd), size_(size), path_(std::move(path)) {}

  std::uint64_t size() const override { return size_; }
  Status read(std::uint64_t offset, std::size_t length, void* out) const override {
    auto* to = static_cast<char*>(out);
    while (length > 0) {
      const ssize_t got = ::pread(fd_.get(), to, length, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return io_error(errno, "read", path_);
      if (got == 0) {
        return Error{ErrorCode::kCorrupt, path_ + ": the file ends at byte " + std::to_string(offset) + ", " +
                                              std::to_string(length) + " bytes too early"};
      }
      to += got;
      offset += static_cast<std::uint64_t>(got);
      length -= static_cast<std::size_t>(got);
    }
    return {};
  }

 private:
  Descriptor fd_;
  std::uint64_t size_;
  std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return open_to_write(path, O_TRUNC, "create");
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return open_to_write(path, O_APPEND, "open for writing");
  }
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return io_error(errno, "open", path);
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return io_error(errno, "inspect", path);
    if (S_ISDIR(status.st_mode)) return io_error(EISDIR, "open", path);
    return std::unique_ptr<ReadableFile>(
        std::make_unique<PosixReadableFile>(fd.release(), static_cast<std::uint64_t>(status.st_size), path));
  }
  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return io_error(errno, "rename", from);
    return {};
  }
  Status remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return io_error(errno, "remove", path);
    return {};
  }
  Status create_directories(const std::string& path) override {
    for (std::size_t at = 1; at <= path.size(); ++at) {
      if (at != path.size() && path[at] != '/') continue;
      const std::string part = path.substr(0, at);
      if (::mkdir(part.c_str(), 0755) == 0 || errno == EEXIST) continue;
      return io_error(errno, "create folder", part);
    }
    const Result<FileInfo> made = info(path);
    if (!made) return made.error();
    if (!made->is_directory) return io_error(ENOTDIR, "create folder", path);
    return {};
  }
  Status sync_directory(const std::string& path) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return io_error(errno, "open folder", path);
    if (::fsync(fd.get()) != 0) return io_error(errno, "sync folder", path);
    return {};
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr) return io_error(errno, "list", path);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(folder)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    const int code = errno;
    ::closedir(folder);
    if (code != 0) return io_error(code, "list", path);
    std::sort(names.begin(), names.end());
    return names;
  }
  Result<FileInfo> info(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return io_error(errno, "inspect", path);
    FileInfo found;
    found.size = static_cast<std::uint64_t>(status.st_size);
    found.is_directory = S_ISDIR(status.st_mode);
    found.is_regular = S_ISREG(status.st_mode);
    found.modified_ns = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
    return found;
  }

 private:
  static Result<std::unique_ptr<WritableFile>> open_to_write(const std::string& path, int how, const char* what) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644);
    if (fd < 0) return io_error(errno, what, path);
    return std::unique_ptr<WritableFile>(std::make_unique<PosixWritableFile>(fd, path));
  }
};

}  // namespace

FileSystem& FileSystem::posix() {
  static PosixFileSystem files;
  return files;
}

Error io_error(int code, std::string_view what, const std::string& path) {
  ErrorCode kind = ErrorCode::kIo;
  if (code == ENOENT || code == ENOTDIR) kind = ErrorCode::kNotFound;
  if (code == EACCES || code == EPERM || code == EROFS) kind = ErrorCode::kPermission;
  if (code == ENOSPC || code == EDQUOT) kind = ErrorCode::kNoSpace;
  if (code == ELOOP || code == EISDIR) kind = ErrorCode::kInvalidInput;
  return Error{kind, path + ": cannot " + std::string(what) + ": " + std::strerror(code)};
}

Result<std::string> read_file(const std::string& path, std::uint64_t max_bytes) {
  auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  const std::uint64_t size = (*file)->size();
  if (size > max_bytes) {
    return Error{ErrorCode::kLimit,
                 path + ": " + std::to_string(size) + " bytes, over the limit of " + std::to_string(max_bytes)};
  }
  std::string data(size, '\0');
  const Status read = (*file)->read(0, size, data.data());
  if (!read) return read.error();
  return data;
}

Status write_file_atomically(FileSystem& files, const std::string& path, std::string_view data) {
  const std::string temporary = path + ".tmp";
  auto file = files.create(temporary);
  if (!file) return file.error();
  Status step = (*file)->append(data);
  if (step) step = (*file)->sync();
  if (step) step = (*file)->close();
  if (step) step = files.rename(temporary, path);
  if (!step) {
    (void)files.remove(temporary).ok();
    return step;
  }
  return files.sync_directory(parent_path(path));
}

std::string join_path(std::string_view folder, std::string_view name) {
  std::string path(folder);
  if (!path.empty() && path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

}  // namespace casemate
