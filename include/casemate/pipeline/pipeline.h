// casemate/pipeline/pipeline.h
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/encoder/encoder.h"
#include "casemate/pipeline/evidence.h"
#include "casemate/pipeline/policy.h"
#include "casemate/retrieve/retriever.h"
#include "casemate/store/store.h"

namespace casemate {

class LanguageModel;
class PassageCache;
class PassageStates;
class Reranker;
class SigningKey;

/// A passage in its final place.
struct Hit {
  ChunkId id = 0;
  int rank = 0;         ///< from 1
  Candidate candidate;  ///< scores and ranks by which it was found
  std::string document;
  UntrustedText title;
  UntrustedText text;
  bool sanitised = false;  ///< `text` is not the passage's own: a defence masked parts of it
  std::string source_path;
  std::uint64_t source_begin = 0;  ///< bytes of the source (docs/formats.md says in which unit)
  std::uint64_t source_end = 0;
  int page = 0;
  int line = 0;
};

struct SearchResult {
  UntrustedText query;
  std::string policy;
  std::vector<Hit> hits;
  Evidence evidence;
};

/// A passage that stood in the prompt.
struct Source {
  Hit hit;
  int number = 0;      ///< the answer refers to it as [number]
  bool cited = false;  ///< the answer does so
};

struct Answer {
  UntrustedText question;
  UntrustedText text;
  std::string policy;
  std::vector<Source> sources;
  Evidence evidence;
  std::string finish_reason;  ///< "stop", "length", "no_passages"; "withheld" where the guard ended it
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
  std::string certificate;  ///< the file's text (docs/certificates.md); empty where there is none
};

struct QueryOptions {
  std::string tenant = "default";
  DocumentFilter filter;
  std::optional<int> top_k;           ///< default: the policy's; in [1, 1000]
  std::optional<RetrievalMode> mode;  ///< default: the policy's
  /// Also tell where each passage stands without defences. Costs an undefended scan where a defence replaces it.
  bool explain = false;
  std::uint64_t seed = 0;                ///< of whatever a defence draws
  std::vector<UntrustedText> options{};  ///< of a multiple choice, A first: the answer is a letter; none: a free answer
  std::optional<int> max_new_tokens{};   ///< a shorter answer than the policy's; >= 1, larger values change nothing
  /// How the operator wants answers worded, within a fixed frame. A policy that aggregates does not use it: groups must
  /// see nothing but their passages.
  UntrustedText style{};
  /// Asked under a policy that protects passages, before the answer is made, for each document: may so many characters
  /// of it be disclosed? What may not is withheld. Empty: all may.
  std::function<bool(const std::string& document, std::size_t characters)> may_disclose{};
};

/// What a pipeline works with. Not owned: all of it must outlive the pipeline.
struct PipelineParts {
  const Store* store = nullptr;        ///< required
  const Encoder* encoder = nullptr;    ///< null: words alone can be searched
  LanguageModel* model = nullptr;      ///< null: search only, and no defence that asks a model
  const Reranker* reranker = nullptr;  ///< for `rerank` by cross-encoder
  PassageCache* cache = nullptr;       ///< null: what defences compute is kept in memory, for this pipeline
  const ThreadPool* pool = nullptr;    ///< required
  PassageStates* states = nullptr;     ///< of passages that isolated prompts have read; null: each is read anew
  const SigningKey* key = nullptr;     ///< signs certificates; null: a key that nobody knows is made for the pipeline
  LanguageModel* backbone = nullptr;   ///< a small model for a sanitizer's keywords; null: `model`
};

/// Where a store keeps the canaries planted in a tenant's documents: one a line.
inline constexpr char kCanarySetting[] = "canaries";

/// One way from a question to passages or to an answer, built from a policy. Thread-safe.
class Pipeline {
 public:
  /// Error: InvalidOption; Mismatch where the encoder is not the store's; what the policy's defences say (a model or a
  /// calibration that is missing, options out of range, a scan that does not stand first).
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> create(const PipelineParts& parts, const Policy& policy);
  ~Pipeline();

  /// Ranked passages. Error: InvalidArgument for a blank query, or for a mode other than dense where a defence replaces
  /// the dense scan; what retrieval, defences and store say; Cancelled.
  [[nodiscard]] Result<SearchResult> search(const UntrustedText& query, const QueryOptions& options,
                                            std::stop_token stop = {}) const;

  /// An answer from the passages that `search` gives, greedy. Passages that do not fit the model's context are left out
  /// from the end, which the evidence tells; a policy that aggregates asks each group of passages by itself instead. No
  /// passage at all: an answer that says so, without asking the model. `on_text` (may be empty) gets the answer as it
  /// grows, or at its end where it is aggregated. Error: as `search`; InvalidArgument without a model, or for a
  /// multiple choice under a sanitizer; Limit where not even one passage fits; what the model says; Cancelled.
  [[nodiscard]] Result<Answer> ask(const UntrustedText& question, const QueryOptions& options,
                                   const std::function<void(const UntrustedText&)>& on_text,
                                   std::stop_token stop) const;

 private:
  struct State;
  explicit Pipeline(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The result as one JSON object: {query, policy, hits: [{id, document, rank, score, text, ...}], evidence}.
[[nodiscard]] std::string to_json(const SearchResult& result);
/// {question, answer, sources, evidence, certificate}; certificate is null where the policy makes none.
[[nodiscard]] std::string to_json(const Answer& answer);

}  // namespace casemate
