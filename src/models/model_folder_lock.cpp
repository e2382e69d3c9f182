#include "models/model_folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "casemate/core/file_system.h"

namespace casemate {

Result<ModelFolderLock> ModelFolderLock::acquire(const std::string& root, std::string_view name, Progress& progress,
                                                 const std::stop_token& stop) {
  if (Status made = FileSystem::posix().create_directories(root); !made) return made.error();
  const std::string path = join_path(root, "." + std::string(name) + ".lock");
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (fd.get() < 0) return io_error(errno, "open for writing", path);
  bool told = false;
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return io_error(errno, "lock", path);
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, path + ": stopped while waiting for the lock"};
    if (!told) progress.note("another process is fetching " + std::string(name) + "; waiting for it");
    told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return ModelFolderLock(std::move(fd));
}

}  // namespace casemate
