#include "testing/faulty_sqlite_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cstdint>
#include <new>

// SQLite's VFS interface is in C: a file is a struct that begins with sqlite3_file, in memory that SQLite provides,
// followed here by the real VFS's own file.
namespace casemate::testing {

struct FaultySqliteVfs::Registration {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  std::shared_ptr<SimulatedDisk> disk;
};

namespace {

using Inode = SimulatedDisk::Inode;
using Verdict = SimulatedDisk::Verdict;
using Registration = FaultySqliteVfs::Registration;

/// What is put beside SQLite's base struct; constructed in xOpen, destroyed in xClose.
struct Tracked {
  std::shared_ptr<SimulatedDisk> disk;
  std::shared_ptr<Inode> inode;  ///< null: a temporary file, which no one sees after a power cut
  std::string folder;
  bool sync_folder_too = false;  ///< as SQLite's unix VFS does at the first sync of a new journal or log
};

struct FaultyFile {
  sqlite3_file base;
  Tracked* tracked;
  sqlite3_file* real;
};

FaultyFile& as_faulty(sqlite3_file* file) { return *reinterpret_cast<FaultyFile*>(file); }
sqlite3_file* real_of(sqlite3_file* file) { return as_faulty(file).real; }
const Registration& registration_of(sqlite3_vfs* vfs) { return *static_cast<const Registration*>(vfs->pAppData); }

/// SQLITE_OK, or the code of an operation that must fail.
int verdict_code(const Tracked& tracked, bool takes_space, int io_code) {
  if (!tracked.inode) return tracked.disk->is_dead() ? io_code : SQLITE_OK;
  switch (tracked.disk->count(takes_space)) {
    case Verdict::kGo:
      return SQLITE_OK;
    case Verdict::kDiskFull:
      return SQLITE_FULL;
    case Verdict::kIoError:
      return io_code;
  }
  return io_code;
}

int close_file(sqlite3_file* file) {
  const std::unique_ptr<Tracked> tracked(as_faulty(file).tracked);
  return real_of(file)->pMethods->xClose(real_of(file));
}
int read_file(sqlite3_file* file, void* out, int size, sqlite3_int64 offset) {
  if (as_faulty(file).tracked->disk->is_dead()) return SQLITE_IOERR_READ;
  return real_of(file)->pMethods->xRead(real_of(file), out, size, offset);
}
int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  const Tracked& tracked = *as_faulty(file).tracked;
  const bool was_dead = tracked.disk->is_dead();
  const int code = verdict_code(tracked, true, SQLITE_IOERR_WRITE);
  // A write that the power cut meets may have reached the disk in part, so it is remembered as pending.
  const bool cut_now = code == SQLITE_IOERR_WRITE && !was_dead && tracked.disk->is_dead();
  if (tracked.inode && (code == SQLITE_OK || cut_now)) {
    tracked.disk->write(*tracked.inode, static_cast<std::uint64_t>(offset),
                        {static_cast<const char*>(data), static_cast<std::size_t>(size)});
  }
  if (code != SQLITE_OK) return code;
  return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  const Tracked& tracked = *as_faulty(file).tracked;
  const int code = verdict_code(tracked, false, SQLITE_IOERR_TRUNCATE);
  if (code != SQLITE_OK) return code;
  if (tracked.inode) tracked.disk->truncate(*tracked.inode, static_cast<std::uint64_t>(size));
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
int sync_file(sqlite3_file* file, int /*flags*/) {
  Tracked& tracked = *as_faulty(file).tracked;
  const int code = verdict_code(tracked, false, SQLITE_IOERR_FSYNC);
  if (code != SQLITE_OK || !tracked.inode) return code;
  tracked.disk->sync(*tracked.inode);
  if (tracked.sync_folder_too) tracked.disk->sync_directory(tracked.folder);
  tracked.sync_folder_too = false;
  return SQLITE_OK;
}
int file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
int lock_file(sqlite3_file* file, int level) { return real_of(file)->pMethods->xLock(real_of(file), level); }
int unlock_file(sqlite3_file* file, int level) { return real_of(file)->pMethods->xUnlock(real_of(file), level); }
int check_reserved(sqlite3_file* file, int* result) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}
int file_control(sqlite3_file* file, int operation, void* argument) {
  // Size hints would make the real VFS allocate space behind the simulated disk's back.
  if (operation == SQLITE_FCNTL_SIZE_HINT || operation == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
  return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}
int sector_size(sqlite3_file* file) { return real_of(file)->pMethods->xSectorSize(real_of(file)); }
int characteristics(sqlite3_file* /*file*/) { return 0; }  // the least that a disk promises
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return real_of(file)->pMethods->xShmUnmap(real_of(file), remove); }

constexpr sqlite3_io_methods kMethods = {
    2,         close_file,  read_file,      write_file,   truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control, sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,      nullptr,      nullptr};

constexpr int kPersistent =
    SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL;
constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL;

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const Registration& registration = registration_of(vfs);
  FaultyFile& faulty = as_faulty(file);
  faulty.base.pMethods = nullptr;
  faulty.real = reinterpret_cast<sqlite3_file*>(&faulty + 1);
  auto tracked = std::make_unique<Tracked>();
  tracked->disk = registration.disk;
  const bool persistent = name != nullptr && (flags & kPersistent) != 0 && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0;
  if (registration.disk->is_dead()) return SQLITE_CANTOPEN;
  if (persistent) {
    const std::string path = name;
    tracked->inode = registration.disk->find(path);
    tracked->folder = parent_path(path);
    if (!tracked->inode && (flags & SQLITE_OPEN_CREATE) != 0) {
      const Verdict verdict = registration.disk->count(true);
      if (verdict != Verdict::kGo) return verdict == Verdict::kDiskFull ? SQLITE_FULL : SQLITE_CANTOPEN;
      tracked->inode = registration.disk->create(path);
      tracked->sync_folder_too = (flags & kJournals) != 0;
    }
  }
  const int code = registration.real->xOpen(registration.real, name, faulty.real, flags, out_flags);
  if (faulty.real->pMethods == nullptr) return code;
  faulty.tracked = tracked.release();
  faulty.base.pMethods = &kMethods;
  return code;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  const Registration& registration = registration_of(vfs);
  if (registration.disk->count(false) != Verdict::kGo) return SQLITE_IOERR_DELETE;
  const int code = registration.real->xDelete(registration.real, name, 0);
  if (code != SQLITE_OK) return code;
  registration.disk->remove(name);
  if (sync_folder != 0) registration.disk->sync_directory(parent_path(name));
  return SQLITE_OK;
}

int access_file(sqlite3_vfs* vfs, const char* name, int flags, int* out) {
  const Registration& registration = registration_of(vfs);
  if (registration.disk->is_dead()) return SQLITE_IOERR_ACCESS;
  return registration.real->xAccess(registration.real, name, flags, out);
}
int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
  sqlite3_vfs* real = registration_of(vfs).real;
  return real->xFullPathname(real, name, size, out);
}
int randomness(sqlite3_vfs* vfs, int size, char* out) {
  sqlite3_vfs* real = registration_of(vfs).real;
  return real->xRandomness(real, size, out);
}
int sleep_for(sqlite3_vfs* vfs, int microseconds) {
  sqlite3_vfs* real = registration_of(vfs).real;
  return real->xSleep(real, microseconds);
}
int current_time(sqlite3_vfs* vfs, double* out) {
  sqlite3_vfs* real = registration_of(vfs).real;
  return real->xCurrentTime(real, out);
}
int last_error(sqlite3_vfs* vfs, int size, char* out) {
  sqlite3_vfs* real = registration_of(vfs).real;
  return real->xGetLastError(real, size, out);
}

std::string unique_name() {
  static std::atomic<std::uint64_t> count{0};
  return "casemate-faulty-" + std::to_string(++count);
}

}  // namespace

FaultySqliteVfs::FaultySqliteVfs(std::shared_ptr<SimulatedDisk> disk)
    : name_(unique_name()), registration_(std::make_unique<Registration>()) {
  Registration& registration = *registration_;
  registration.real = sqlite3_vfs_find(nullptr);
  registration.disk = std::move(disk);
  sqlite3_vfs& vfs = registration.vfs;
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(FaultyFile)) + registration.real->szOsFile;
  vfs.mxPathname = registration.real->mxPathname;
  vfs.zName = name_.c_str();
  vfs.pAppData = registration_.get();
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep_for;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  sqlite3_vfs_register(&vfs, 0);
}

FaultySqliteVfs::~FaultySqliteVfs() { sqlite3_vfs_unregister(&registration_->vfs); }

}  // namespace casemate::testing
