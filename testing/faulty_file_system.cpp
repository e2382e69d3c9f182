#include "testing/faulty_file_system.h"

#include <cerrno>

#include "testing/faulty_sqlite_vfs.h"
#include "testing/simulated_disk.h"

namespace casemate::testing {
namespace {

using Verdict = SimulatedDisk::Verdict;

Status verdict_status(Verdict verdict, std::string_view what, const std::string& path) {
  if (verdict == Verdict::kGo) return {};
  return io_error(verdict == Verdict::kDiskFull ? ENOSPC : EIO, what, path);
}

class FaultyWritableFile final : public WritableFile {
 public:
  FaultyWritableFile(std::shared_ptr<SimulatedDisk> disk, std::shared_ptr<SimulatedDisk::Inode> inode,
                     std::unique_ptr<WritableFile> real, std::string path, std::uint64_t size)
      : disk_(std::move(disk)), inode_(std::move(inode)), real_(std::move(real)), path_(std::move(path)), size_(size) {}

  Status append(std::string_view data) override {
    const bool was_dead = disk_->is_dead();
    const Status allowed = verdict_status(disk_->count(true), "write", path_);
    const bool cut_now = !was_dead && disk_->is_dead();
    if (allowed || cut_now) disk_->write(*inode_, size_, data);
    if (!allowed) return allowed;
    size_ += data.size();
    return real_->append(data);
  }
  Status sync() override {
    const Status allowed = verdict_status(disk_->count(false), "sync", path_);
    if (allowed) disk_->sync(*inode_);
    return allowed;
  }
  Status close() override { return real_->close(); }

 private:
  std::shared_ptr<SimulatedDisk> disk_;
  std::shared_ptr<SimulatedDisk::Inode> inode_;
  std::unique_ptr<WritableFile> real_;
  std::string path_;
  std::uint64_t size_;
};

}  // namespace

FaultyFileSystem::FaultyFileSystem()
    : disk_(std::make_shared<SimulatedDisk>()), vfs_(std::make_unique<FaultySqliteVfs>(disk_)) {}
FaultyFileSystem::~FaultyFileSystem() = default;

const std::string& FaultyFileSystem::vfs_name() const { return vfs_->name(); }
std::uint64_t FaultyFileSystem::operations() const { return disk_->operations(); }
void FaultyFileSystem::arm(Fault fault, std::uint64_t at) { disk_->arm(fault, at); }
void FaultyFileSystem::disarm() { disk_->disarm(); }
bool FaultyFileSystem::tripped() const { return disk_->tripped(); }
Status FaultyFileSystem::restore_durable_state(Unsynced unsynced, std::uint64_t seed) {
  return disk_->restore(unsynced, seed);
}

Result<std::unique_ptr<WritableFile>> FaultyFileSystem::create(const std::string& path) {
  if (const Status allowed = verdict_status(disk_->count(true), "create", path); !allowed) return allowed.error();
  auto inode = disk_->create(path);
  auto real = FileSystem::posix().create(path);
  if (!real) return real.error();
  return std::unique_ptr<WritableFile>(
      std::make_unique<FaultyWritableFile>(disk_, std::move(inode), std::move(*real), path, 0));
}
Result<std::unique_ptr<WritableFile>> FaultyFileSystem::append_to(const std::string& path) {
  const auto there = FileSystem::posix().info(path);
  // Opening what is there changes nothing on the disk.
  const Status allowed = there ? (disk_->is_dead() ? Status(io_error(EIO, "open for writing", path)) : Status())
                               : verdict_status(disk_->count(true), "create", path);
  if (!allowed) return allowed.error();
  auto inode = there ? disk_->find(path) : disk_->create(path);
  auto real = FileSystem::posix().append_to(path);
  if (!real) return real.error();
  return std::unique_ptr<WritableFile>(
      std::make_unique<FaultyWritableFile>(disk_, std::move(inode), std::move(*real), path, there ? there->size : 0));
}
Result<std::unique_ptr<ReadableFile>> FaultyFileSystem::open(const std::string& path) {
  if (disk_->is_dead()) return io_error(EIO, "open", path);
  return FileSystem::posix().open(path);
}
Status FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  if (Status allowed = verdict_status(disk_->count(false), "rename", from); !allowed) return allowed;
  disk_->rename(from, to);
  return FileSystem::posix().rename(from, to);
}
Status FaultyFileSystem::remove(const std::string& path) {
  if (Status allowed = verdict_status(disk_->count(false), "remove", path); !allowed) return allowed;
  const Status removed = FileSystem::posix().remove(path);
  if (removed) disk_->remove(path);
  return removed;
}
Status FaultyFileSystem::create_directories(const std::string& path) {
  if (disk_->is_dead()) return io_error(EIO, "create folder", path);
  return FileSystem::posix().create_directories(path);
}
Status FaultyFileSystem::sync_directory(const std::string& path) {
  Status allowed = verdict_status(disk_->count(false), "sync folder", path);
  if (allowed) disk_->sync_directory(path);
  return allowed;
}
Result<std::vector<std::string>> FaultyFileSystem::list(const std::string& path) {
  if (disk_->is_dead()) return io_error(EIO, "list", path);
  return FileSystem::posix().list(path);
}
Result<FileInfo> FaultyFileSystem::info(const std::string& path) {
  if (disk_->is_dead()) return io_error(EIO, "inspect", path);
  return FileSystem::posix().info(path);
}

}  // namespace casemate::testing
