// testing/simulated_disk.h
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "testing/faulty_file_system.h"

namespace casemate::testing {

/// The state behind FaultyFileSystem and its SQLite VFS: operation counter, armed fault, and what is durable.
/// The files themselves are real ones on the real disk. Thread-safe.
class SimulatedDisk {
 public:
  /// What a file holds apart from its name, as an inode does.
  struct Inode {
    struct Pending {
      bool truncate = false;
      std::uint64_t offset = 0;  ///< of the data, or the new size
      std::string data;
    };
    std::string durable;
    std::vector<Pending> pending;  ///< not synced yet, in order
  };
  enum class Verdict { kGo, kIoError, kDiskFull };

  /// The verdict on the next operation, which is counted.
  Verdict count(bool takes_space);
  /// The verdict on an operation that is not counted (reading): fails after a power cut only.
  [[nodiscard]] bool is_dead() const;

  /// The inode of a file, which is taken as durable where it was there before this disk was.
  std::shared_ptr<Inode> find(const std::string& path);
  /// A new file, or an old one cut to nothing.
  std::shared_ptr<Inode> create(const std::string& path);
  void write(Inode& inode, std::uint64_t offset, std::string_view data);
  void truncate(Inode& inode, std::uint64_t size);
  void sync(Inode& inode);
  void rename(const std::string& from, const std::string& to);
  void remove(const std::string& path);
  void sync_directory(const std::string& folder);

  [[nodiscard]] std::uint64_t operations() const;
  void arm(FaultyFileSystem::Fault fault, std::uint64_t at);
  void disarm();
  [[nodiscard]] bool tripped() const;
  [[nodiscard]] Status restore(FaultyFileSystem::Unsynced unsynced, std::uint64_t seed);

 private:
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  struct NameChange {
    std::string path;
    std::shared_ptr<Inode> inode;  ///< null: the name is gone
  };
  std::shared_ptr<Inode> adopt(const std::string& path);
  void set_name(const std::string& path, std::shared_ptr<Inode> inode);

  mutable std::mutex mutex_;
  std::uint64_t operations_ = 0;
  std::uint64_t fault_at_ = 0;  ///< 0: none
  FaultyFileSystem::Fault fault_ = FaultyFileSystem::Fault::kIoError;
  bool tripped_ = false;
  Names current_;
  Names durable_;
  std::vector<NameChange> name_changes_;  ///< since their folders' last sync, in order
  std::set<std::string> seen_;            ///< every path that ever had a file
};

}  // namespace casemate::testing
