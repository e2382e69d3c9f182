// testing/faulty_file_system.h
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "casemate/core/file_system.h"

namespace casemate::testing {

class FaultySqliteVfs;
class SimulatedDisk;

/// A disk that fails when told to. It is a FileSystem over the real one and, under `vfs_name()`, a SQLite VFS over the
/// same state: writes of segments and of SQLite's database and log are one numbered sequence.
///
/// It remembers for each file what was synced, and for each folder which names were, so that after a power cut
/// `restore_durable_state` can put the folder back to what a disk would hold. Folders themselves count as durable.
/// Real syncs are left out (the real machine does not lose power). Thread-safe; outlives every store that uses it.
class FaultyFileSystem final : public FileSystem {
 public:
  enum class Fault {
    kIoError,   ///< the one operation fails with EIO
    kDiskFull,  ///< from then on every operation that takes space fails with ENOSPC, until `disarm`
    kPowerCut,  ///< from then on every operation fails, until `restore_durable_state`
  };
  /// What a power cut does to writes and names that were not synced.
  enum class Unsynced {
    kDropped,  ///< all are lost
    kTorn,     ///< all are there, but of each file's last write only the first half
    kRandom,   ///< each write is there or not, and some prefix of the name changes is
  };

  FaultyFileSystem();
  ~FaultyFileSystem() override;

  /// Name of the SQLite VFS, unique to this object.
  [[nodiscard]] const std::string& vfs_name() const;
  /// Counted operations so far: writes, truncations, syncs, creations, renames, removals, folder syncs.
  [[nodiscard]] std::uint64_t operations() const;
  /// The `at`-th operation from now (1: the next one) meets `fault`.
  void arm(Fault fault, std::uint64_t at);
  void disarm();
  /// True where an armed fault has been met.
  [[nodiscard]] bool tripped() const;
  /// Puts every file back to what is durable and forgets all faults. Everything that had files open must be closed.
  [[nodiscard]] Status restore_durable_state(Unsynced unsynced, std::uint64_t seed = 0);

  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status create_directories(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override;

 private:
  std::shared_ptr<SimulatedDisk> disk_;
  std::unique_ptr<FaultySqliteVfs> vfs_;
};

}  // namespace casemate::testing
