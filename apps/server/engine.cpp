#include "engine.h"

#include <condition_variable>
#include <mutex>

#include "casemate/core/untrusted_text.h"

namespace casemate::server {
namespace {

constexpr std::chrono::seconds kRefreshInterval{1};

Result<Screening> make_screening(const Policy& policy, const DefenceServices& services) {
  Screening out;
  out.policy = policy.name;
  out.top_k = policy.top_k;
  for (const DefenceChoice& choice : policy.defences) {
    const auto entry = find_defence(choice.name);
    if (!entry) return entry.error();
    if ((*entry)->scans) {
      out.notes.push_back(choice.name +
                          " works on a store's own vectors: it does not judge candidates from somewhere else");
      continue;
    }
    auto made = create_defence(choice, services);
    if (!made) return made.error();
    out.defences.push_back(*std::move(made));
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(EngineParts parts, std::vector<Policy> policies) {
  if (policies.empty() || parts.pool == nullptr)
    return Error{ErrorCode::kInvalidArgument, "a server needs a policy and a thread pool"};
  std::unique_ptr<Engine> engine(new Engine(std::move(parts), std::move(policies)));
  if (engine->parts_.key == nullptr) engine->parts_.key = std::make_unique<SigningKey>(SigningKey::generate());
  auto keywords = KeywordExtractor::create();
  if (!keywords) return keywords.error();
  engine->keywords_ = *std::move(keywords);
  auto cache = make_memory_passage_cache();
  if (!cache) return cache.error();
  engine->screen_cache_ = *std::move(cache);
  if (Status made = engine->make_pipelines(); !made) return made.error();
  engine->make_screenings();
  if (engine->parts_.store != nullptr) {
    engine->refresher_ = std::jthread([raw = engine.get()](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      while (!never.wait_for(lock, stop, kRefreshInterval, [] { return false; }) && !stop.stop_requested())
        raw->refresh();
    });
  }
  return engine;
}

Engine::~Engine() = default;

Status Engine::make_pipelines() {
  if (parts_.store == nullptr) return {};
  store_cache_ = make_store_passage_cache(*parts_.store);
  PipelineParts parts;
  parts.store = parts_.store.get();
  parts.encoder = parts_.encoder.get();
  parts.model = parts_.model.get();
  parts.reranker = parts_.reranker.get();
  parts.states = parts_.states.get();
  parts.key = parts_.key.get();
  parts.backbone = parts_.backbone.get();
  parts.cache = store_cache_.get();
  parts.pool = parts_.pool;
  for (const Policy& policy : policies_) {
    auto made = Pipeline::create(parts, policy);
    if (!made) return made.error().in("policy " + policy.name);
    pipelines_.push_back(*std::move(made));
  }
  return {};
}

void Engine::make_screenings() {
  DefenceServices services;
  services.encoder = parts_.encoder.get();
  services.model = parts_.model.get();
  services.reranker = parts_.reranker.get();
  services.store = parts_.store.get();
  services.cache = screen_cache_.get();
  services.pool = parts_.pool;
  for (const Policy& policy : policies_) screenings_.push_back(make_screening(policy, services));
}

Result<std::size_t> Engine::find(std::string_view policy) const {
  std::string known;
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    // What the operator added to a policy (" + guard stop") need not be named to ask for it.
    if (policies_[i].name == policy || policies_[i].name.substr(0, policies_[i].name.find(" + ")) == policy) return i;
    known += (known.empty() ? "" : ", ") + policies_[i].name;
  }
  // A plain name ("fast") means the dated one.
  if (const auto dated = find_policy(policy); dated && dated->name != policy) return find(dated->name);
  return Error{ErrorCode::kNotFound,
               "this server has no policy \"" + UntrustedText(std::string(policy)).for_log() + "\"; it has " + known};
}

std::size_t Engine::default_of(std::string_view tenant) const {
  const std::lock_guard lock(mutex_);
  const auto chosen = defaults_.find(tenant);
  return chosen == defaults_.end() ? default_ : chosen->second;
}

const Policy& Engine::default_policy(std::string_view tenant) const { return policies_[default_of(tenant)]; }

Status Engine::set_default_policy(std::string_view tenant, std::string_view name) {
  const auto found = find(name);
  if (!found) return found.error();
  const std::lock_guard lock(mutex_);
  defaults_.insert_or_assign(std::string(tenant), *found);
  return {};
}

Status Engine::reset_default_policy(std::string_view name) {
  const auto found = find(name);
  if (!found) return found.error();
  const std::lock_guard lock(mutex_);
  default_ = *found;
  defaults_.clear();
  return {};
}

std::size_t Engine::index_of(const Policy& policy) const {
  return static_cast<std::size_t>(&policy - policies_.data());
}

Result<const Policy*> Engine::policy(std::string_view name) const {
  const auto found = find(name);
  if (!found) return found.error();
  return &policies_[*found];
}

Result<const Pipeline*> Engine::pipeline(const Policy& policy) const {
  if (pipelines_.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "this server has no store: it screens, answers from given passages and verifies"};
  return const_cast<const Pipeline*>(pipelines_[index_of(policy)].get());
}

Result<const Screening*> Engine::screening(const Policy& policy) const {
  const Result<Screening>& made = screenings_[index_of(policy)];
  if (!made) return made.error();
  return &*made;
}

void Engine::refresh() {
  // A store that cannot be read just now is told by the requests that need it.
  if (parts_.store != nullptr) (void)parts_.store->refresh().ok();
}

}  // namespace casemate::server
