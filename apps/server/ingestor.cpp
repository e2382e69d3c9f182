#include "ingestor.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include "casemate/core/signing.h"
#include "casemate/pipeline/prepare.h"

namespace casemate::server {
namespace {

/// The number after `name` in "tokens=200 overlap=40".
std::optional<int> parameter(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  int value = 0;
  const char* begin = text.data() + at + name.size();
  if (std::from_chars(begin, text.data() + text.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

Result<ChunkerOptions> chunking_of(const Store& store) {
  const std::string& text = store.encoder().chunker_parameters;
  const auto tokens = parameter(text, "tokens=");
  const auto overlap = parameter(text, "overlap=");
  if (!tokens || !overlap)
    return Error{ErrorCode::kMismatch, "the store was cut by rules that this version does not know: " + text};
  return ChunkerOptions{*tokens, *overlap, false};
}

std::string random_id() {
  const std::string bytes = random_bytes(16);
  return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string_view job_state_name(JobState state) noexcept {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kRunning:
      return "running";
    case JobState::kDone:
      return "done";
    case JobState::kFailed:
      return "failed";
  }
  return "failed";
}

bool may_see(const Caller& caller, const std::set<std::string>& labels) {
  if (caller.labels.empty()) return true;
  return std::any_of(caller.labels.begin(), caller.labels.end(),
                     [&](const std::string& label) { return labels.contains(label); });
}

struct Ingestor::Upload {
  std::string id;
  Caller caller;
  std::vector<SuppliedDocument> documents;
  std::set<std::string> labels;
};

class Ingestor::JobProgress final : public Progress {
 public:
  JobProgress(Ingestor& ingestor, std::string id) : ingestor_(ingestor), id_(std::move(id)) {}
  void begin(std::string_view, std::uint64_t, std::string_view) override {}
  void update(std::uint64_t done) override {
    ingestor_.change(id_, [done](Job& job) { job.read = done; });
  }
  void note(std::string_view) override {}
  void end() override {}

 private:
  Ingestor& ingestor_;
  std::string id_;
};

Ingestor::Ingestor(IngestorOptions options, Engine& engine, Metrics& metrics, Log& log)
    : options_(std::move(options)),
      engine_(engine),
      metrics_(metrics),
      log_(log),
      queue_(1, options_.max_waiting_jobs) {}

Ingestor::~Ingestor() {
  stop_.request_stop();
  queue_.close();
}

template <typename Change>
void Ingestor::change(const std::string& id, Change change) {
  const std::lock_guard lock(mutex_);
  if (const auto found = jobs_.find(id); found != jobs_.end()) change(found->second);
}

Result<Job> Ingestor::add(const Caller& caller, std::vector<SuppliedDocument> documents, std::set<std::string> labels) {
  Job job;
  job.id = random_id();
  job.tenant = caller.tenant;
  job.key = caller.key;
  job.documents = documents.size();
  const std::string id = job.id;
  {
    const std::lock_guard lock(mutex_);
    std::deque<std::string>& order = order_[caller.tenant];
    const auto waiting = std::count_if(order.begin(), order.end(),
                                       [&](const std::string& each) { return jobs_[each].state == JobState::kQueued; });
    if (static_cast<std::size_t>(waiting) >= std::max<std::size_t>(1, options_.max_waiting_jobs / 2))
      return Error{ErrorCode::kUnavailable, "too many uploads of this tenant wait"};
    jobs_.emplace(id, job);
    order.push_back(id);
    if (order.size() > options_.max_kept_jobs) {
      jobs_.erase(order.front());
      order.pop_front();
    }
  }
  const auto upload = std::make_shared<const Upload>(Upload{id, caller, std::move(documents), std::move(labels)});
  if (queue_.submit([this, upload] { run(*upload); }, stop_.get_token())) return job;
  const std::lock_guard lock(mutex_);
  jobs_.erase(id);
  std::erase(order_[caller.tenant], id);
  return Error{ErrorCode::kUnavailable, "too many uploads wait"};
}

void Ingestor::run(const Upload& upload) {
  change(upload.id, [](Job& job) { job.state = JobState::kRunning; });
  auto summary = store_documents(upload);
  engine_.refresh();
  if (summary) {
    metrics_.ingested(summary->added + summary->replaced, summary->chunks);
    change(upload.id, [&](Job& job) {
      job.state = JobState::kDone;
      job.summary = *std::move(summary);
    });
    return;
  }
  log_.write(LogLevel::kError, "job_failed",
             {{"job", upload.id}, {"what", UntrustedText(summary.error().message).for_log(500)}});
  change(upload.id, [&](Job& job) {
    job.state = JobState::kFailed;
    job.error = summary.error();
  });
}

Result<std::unique_ptr<Store>> Ingestor::open_for_writing(int wait_ms) {
  StoreOptions options;
  options.load_vectors = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    auto store = Store::open(options_.store, options);
    if (store || store.error().code != ErrorCode::kUnavailable || std::chrono::steady_clock::now() >= deadline ||
        stop_.stop_requested())
      return store;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<IndexSummary> Ingestor::store_documents(const Upload& upload) {
  auto store = open_for_writing(options_.wait_for_store_ms);
  if (!store) return store.error();
  IndexOptions options;
  options.tenant = upload.caller.tenant;
  options.labels = upload.labels;
  const auto chunking = chunking_of(**store);
  if (!chunking) return chunking.error();
  options.chunking = *chunking;
  const auto prepared = prepared_defences(**store);
  if (!prepared) return prepared.error();
  DefenceServices services;
  services.encoder = engine_.encoder();
  services.model = engine_.model();
  services.store = store->get();
  services.pool = &engine_.pool();
  // What the other prepared defences need is computed when a query first needs it.
  const auto scans = prepared_scans(*prepared, services);
  if (!scans) return scans.error();
  for (const auto& scan : *scans) options.recipes.push_back(&scan->recipe());
  // A key with labels may not write over what it cannot see.
  std::vector<SuppliedDocument> allowed;
  std::vector<std::string> problems;
  for (const SuppliedDocument& document : upload.documents) {
    const auto there = (*store)->document(upload.caller.tenant, document.id);
    if (there && !may_see(upload.caller, there->labels)) {
      problems.push_back(UntrustedText(document.id).for_log() +
                         ": the id is taken by a document that this key cannot see");
    } else {
      allowed.push_back(document);
    }
  }
  JobProgress progress(*this, upload.id);
  auto summary = index_documents(allowed, "upload", options, **store, *engine_.encoder(), progress, stop_.get_token());
  if (!summary) return summary;
  summary->refused += problems.size();
  summary->reading.documents += problems.size();
  summary->problems.insert(summary->problems.end(), problems.begin(), problems.end());
  return summary;
}

std::optional<Job> Ingestor::job(const Caller& caller, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.tenant != caller.tenant) return std::nullopt;
  // A key with labels sees its own jobs only: their problems name documents.
  if (!caller.labels.empty() && found->second.key != caller.key) return std::nullopt;
  return found->second;
}

std::vector<Job> Ingestor::jobs(const Caller& caller) const {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    if (const auto own = order_.find(caller.tenant); own != order_.end())
      ids.assign(own->second.rbegin(), own->second.rend());
  }
  std::vector<Job> out;
  for (const std::string& id : ids) {
    if (auto found = job(caller, id)) out.push_back(*std::move(found));
  }
  return out;
}

Result<bool> Ingestor::remove(const Caller& caller, const std::string& id) {
  const auto there = engine_.store()->document(caller.tenant, id);
  if (!there && there.error().code == ErrorCode::kNotFound) return false;
  if (!there) return there.error();
  if (!may_see(caller, there->labels)) return false;
  auto store = open_for_writing(2000);
  if (!store) return store.error();
  const auto removed = (*store)->delete_documents(caller.tenant, std::span(&id, 1));
  if (!removed) return removed.error();
  engine_.refresh();
  return *removed > 0;
}

}  // namespace casemate::server
