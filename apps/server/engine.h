// The library as the server uses it: one store, its models, and a pipeline for each policy that clients may name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "casemate/core/signing.h"
#include "casemate/defend/passage_cache.h"
#include "casemate/encoder/heads.h"
#include "casemate/generate/passage_states.h"
#include "casemate/llm/language_model.h"
#include "casemate/pipeline/pipeline.h"
#include "casemate/text/keywords.h"

namespace casemate::server {

/// What an engine works with; null where it is not there, and routes that need it then say so.
struct EngineParts {
  std::unique_ptr<Store> store;  ///< opened for reading: whoever writes opens it beside
  std::unique_ptr<Encoder> encoder;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<Reranker> reranker;
  std::unique_ptr<PassageStates> states;
  std::unique_ptr<SigningKey> key;          ///< signs certificates; null: a new one that nobody knows
  const ThreadPool* pool = nullptr;         ///< not owned, outlives the engine
  std::unique_ptr<LanguageModel> backbone;  ///< for a sanitizer's keywords; null: `model`
};

/// Defences over candidates that a client brings.
struct Screening {
  std::string policy;
  std::vector<std::unique_ptr<RetrievalDefence>> defences;
  std::vector<std::string> notes;  ///< what of the policy cannot run here
  int top_k = 5;
};

/// Thread-safe.
class Engine {
 public:
  /// `policies` are those that requests may name; the first is the default. Error: what `Pipeline::create` says, with
  /// the policy's name: a defence that cannot run is found here and not at the first request.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(EngineParts parts, std::vector<Policy> policies);
  ~Engine();

  [[nodiscard]] const Store* store() const noexcept { return parts_.store.get(); }
  [[nodiscard]] const Encoder* encoder() const noexcept { return parts_.encoder.get(); }
  [[nodiscard]] LanguageModel* model() const noexcept { return parts_.model.get(); }
  [[nodiscard]] PassageStates* states() const noexcept { return parts_.states.get(); }
  [[nodiscard]] const SigningKey& key() const noexcept { return *parts_.key; }
  [[nodiscard]] const ThreadPool& pool() const noexcept { return *parts_.pool; }
  [[nodiscard]] const KeywordExtractor& keywords() const noexcept { return *keywords_; }

  /// Names of the policies, in order.
  [[nodiscard]] std::span<const Policy> policies() const noexcept { return policies_; }
  /// What requests of `tenant` get that name none.
  [[nodiscard]] const Policy& default_policy(std::string_view tenant) const;
  /// For one tenant: an administrator of one says nothing about the others. Requests that are under way keep theirs.
  /// Error: NotFound.
  [[nodiscard]] Status set_default_policy(std::string_view tenant, std::string_view name);
  /// For all tenants, whatever they had chosen. Error: NotFound.
  [[nodiscard]] Status reset_default_policy(std::string_view name);

  /// By its dated or plain name. Error: NotFound for other names, listing those that there are.
  [[nodiscard]] Result<const Policy*> policy(std::string_view name) const;
  /// `policy` is one of policies(). Error: InvalidArgument where no store is served.
  [[nodiscard]] Result<const Pipeline*> pipeline(const Policy& policy) const;
  /// `policy` is one of policies(). Error: what its defences say where they cannot run without a store.
  [[nodiscard]] Result<const Screening*> screening(const Policy& policy) const;
  /// Picks up what other processes committed. Also done by itself every second.
  void refresh();

 private:
  Engine(EngineParts parts, std::vector<Policy> policies) : parts_(std::move(parts)), policies_(std::move(policies)) {}
  [[nodiscard]] std::size_t default_of(std::string_view tenant) const;
  [[nodiscard]] Result<std::size_t> find(std::string_view policy) const;
  [[nodiscard]] std::size_t index_of(const Policy& policy) const;
  [[nodiscard]] Status make_pipelines();
  void make_screenings();

  EngineParts parts_;
  std::vector<Policy> policies_;
  std::unique_ptr<KeywordExtractor> keywords_;
  std::unique_ptr<PassageCache> store_cache_;
  std::unique_ptr<PassageCache> screen_cache_;
  std::vector<std::unique_ptr<Pipeline>> pipelines_;          ///< one a policy; none without a store
  std::vector<Result<Screening>> screenings_;                 ///< one a policy
  mutable std::mutex mutex_;                                  ///< for the two that follow
  std::size_t default_ = 0;                                   ///< index into policies_
  std::map<std::string, std::size_t, std::less<>> defaults_;  ///< of tenants that chose one
  std::jthread refresher_;
};

}  // namespace casemate::server
