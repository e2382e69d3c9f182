// casemate/core/progress.h
#pragma once

#include <cstdint>
#include <string_view>

namespace casemate {

/// Where long work reports how far it is. The library never prints; the command line draws a bar from this.
/// Calls come from one thread at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  /// A stage begins. `total` units are expected (0: unknown); `unit` is a plural noun such as "documents".
  virtual void begin(std::string_view stage, std::uint64_t total, std::string_view unit) = 0;
  /// `done` units are finished since `begin`.
  virtual void update(std::uint64_t done) = 0;
  /// A sentence for the reader, for instance a skipped file. Already escaped for a terminal.
  virtual void note(std::string_view message) = 0;
  virtual void end() = 0;

  /// Reports nothing.
  [[nodiscard]] static Progress& none();
};

/// A stage from here to the end of the scope, however that is left. The progress must outlive it.
class ProgressStage {
 public:
  ProgressStage(Progress& progress, std::string_view stage, std::uint64_t total, std::string_view unit)
      : progress_(progress) {
    progress_.begin(stage, total, unit);
  }
  ~ProgressStage() { progress_.end(); }
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;

  void update(std::uint64_t done) { progress_.update(done); }

 private:
  Progress& progress_;
};

}  // namespace casemate
