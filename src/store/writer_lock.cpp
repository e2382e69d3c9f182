#include "writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "casemate/core/file_system.h"

namespace casemate {

Result<std::unique_ptr<WriterLock>> WriterLock::acquire(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return io_error(errno, "open for writing", path);
  std::unique_ptr<WriterLock> lock(new WriterLock(fd));  // NOLINT: private constructor
  int code = 0;
  do {
    code = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == EWOULDBLOCK) {
    return Error{ErrorCode::kUnavailable,
                 path + ": another process is writing to this store (wait for it, or open the store read-only)"};
  }
  if (code != 0) return io_error(code, "lock", path);
  return lock;
}

WriterLock::~WriterLock() { ::close(fd_); }

}  // namespace casemate
