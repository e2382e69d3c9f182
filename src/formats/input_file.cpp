#include "formats/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

std::string_view special_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a folder";
  return "a device";
}

}  // namespace

std::string shown_path(const std::string& path) { return UntrustedText(path).for_log(1000); }

Result<InputFile> InputFile::open(const std::string& path, std::string shown) {
  // Without O_NONBLOCK, opening a FIFO waits for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == ENXIO) return Error{ErrorCode::kInvalidInput, shown + ": is a socket or device, not a file"};
  if (fd < 0) return io_error(errno, "open", shown);
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    const Error error = io_error(errno, "inspect", shown);
    ::close(fd);
    return error;
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error{ErrorCode::kInvalidInput,
                 shown + ": is " + std::string(special_name(status.st_mode)) + ", not a regular file"};
  }
  return InputFile(fd, static_cast<std::uint64_t>(status.st_size), std::move(shown));
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), shown_(std::move(other.shown_)) {}

Result<std::size_t> InputFile::read(std::uint64_t offset, char* out, std::size_t capacity) const {
  for (;;) {
    const ssize_t got = ::pread(fd_, out, capacity, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return io_error(errno, "read", shown_);
  }
}

Result<std::string> InputFile::read_all(std::uint64_t max_bytes) const {
  if (size_ > max_bytes) {
    return Error{ErrorCode::kLimit, shown_ + ": " + std::to_string(size_) + " bytes, over the limit of " +
                                        std::to_string(max_bytes) + " (limits.max_file_bytes)"};
  }
  return head(static_cast<std::size_t>(size_));
}

Result<std::string> InputFile::head(std::size_t max_bytes) const {
  std::string data(static_cast<std::size_t>(std::min<std::uint64_t>(size_, max_bytes)), '\0');
  std::size_t have = 0;
  while (have < data.size()) {
    const auto got = read(have, data.data() + have, data.size() - have);
    if (!got) return got.error();
    if (*got == 0) break;  // cut short since it was opened
    have += *got;
  }
  data.resize(have);
  return data;
}

}  // namespace casemate
