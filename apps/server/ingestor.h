// Documents that come over HTTP: jobs that run one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "casemate/pipeline/indexer.h"
#include "engine.h"
#include "log.h"
#include "message.h"
#include "metrics.h"
#include "work_queue.h"

namespace casemate::server {

struct IngestorOptions {
  std::string store;                  ///< folder; opened for writing for the time of a job only
  std::size_t max_waiting_jobs = 64;  ///< further uploads are refused; one tenant may have half of them
  std::size_t max_kept_jobs = 1000;   ///< of a tenant: older ones are forgotten; a job's documents stay without it
  int wait_for_store_ms = 30'000;     ///< for another process that writes
};

enum class JobState : std::uint8_t { kQueued, kRunning, kDone, kFailed };
[[nodiscard]] std::string_view job_state_name(JobState state) noexcept;  ///< "queued", "running", "done", "failed"

struct Job {
  std::string id;
  std::string tenant;
  std::string key;
  JobState state = JobState::kQueued;
  std::uint64_t documents = 0;          ///< of the upload
  std::uint64_t read = 0;               ///< so far
  std::optional<IndexSummary> summary;  ///< when done
  std::optional<Error> error;           ///< when failed; what was stored before stays
};

/// Thread-safe. The store stays open for reading in the engine, so that `casemate index` may run beside the server;
/// queries see what a job stored as soon as it is done.
class Ingestor {
 public:
  Ingestor(IngestorOptions options, Engine& engine, Metrics& metrics, Log& log);
  /// The job that runs is stopped between two batches; those that wait are dropped.
  ~Ingestor();

  /// The job as it was taken, waiting. Labels are put on every document. Error: Unavailable where too many jobs wait.
  [[nodiscard]] Result<Job> add(const Caller& caller, std::vector<SuppliedDocument> documents,
                                std::set<std::string> labels);
  /// Of the caller's tenant. Nothing for another tenant's id, as for one that never was.
  [[nodiscard]] std::optional<Job> job(const Caller& caller, const std::string& id) const;
  [[nodiscard]] std::vector<Job> jobs(const Caller& caller) const;  ///< newest first
  /// Whether a document was there, and `caller` may see it. Error: Unavailable while another process writes.
  [[nodiscard]] Result<bool> remove(const Caller& caller, const std::string& id);

 private:
  class JobProgress;
  struct Upload;
  void run(const Upload& upload);
  [[nodiscard]] Result<IndexSummary> store_documents(const Upload& upload);
  [[nodiscard]] Result<std::unique_ptr<Store>> open_for_writing(int wait_ms);
  template <typename Change>
  void change(const std::string& id, Change change);

  const IngestorOptions options_;
  Engine& engine_;
  Metrics& metrics_;
  Log& log_;
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;
  std::map<std::string, std::deque<std::string>> order_;  ///< by tenant, of making
  WorkQueue queue_;
};

/// True where `caller` may see a document with these labels.
[[nodiscard]] bool may_see(const Caller& caller, const std::set<std::string>& labels);

}  // namespace casemate::server
