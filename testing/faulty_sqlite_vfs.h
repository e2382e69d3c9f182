// testing/faulty_sqlite_vfs.h
#pragma once

#include <memory>
#include <string>

#include "testing/simulated_disk.h"

namespace casemate::testing {

/// A SQLite VFS over SQLite's own one that asks a SimulatedDisk first. Registered for its lifetime.
class FaultySqliteVfs {
 public:
  explicit FaultySqliteVfs(std::shared_ptr<SimulatedDisk> disk);
  ~FaultySqliteVfs();
  FaultySqliteVfs(const FaultySqliteVfs&) = delete;
  FaultySqliteVfs& operator=(const FaultySqliteVfs&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }

  struct Registration;

 private:
  std::string name_;
  std::unique_ptr<Registration> registration_;
};

}  // namespace casemate::testing
