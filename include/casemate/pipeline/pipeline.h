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

/// A passage in its final place.
struct Hit {
  ChunkId id = 0;
  int rank = 0;         ///< from 1
  Candidate candidate;  ///< scores and ranks by which it was found
  std::string document;
  UntrustedText title;
  UntrustedText text;
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
  std::string finish_reason;  ///< "stop" or "length"
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
};

struct QueryOptions {
  std::string tenant = "default";
  DocumentFilter filter;
  std::optional<int> top_k;           ///< default: the policy's; in [1, 1000]
  std::optional<RetrievalMode> mode;  ///< default: the policy's
};

/// One way from a question to passages or to an answer, built from a policy. Thread-safe.
class Pipeline {
 public:
  /// `store`, `encoder`, `model` (null: search only) and `pool` must outlive it.
  /// Error: InvalidOption; Mismatch where the encoder is not the store's.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> create(const Store& store, const Encoder* encoder,
                                                                LanguageModel* model, const Policy& policy,
                                                                const ThreadPool& pool);
  ~Pipeline();

  /// Ranked passages. Error: InvalidArgument for a blank query; what retrieval and store say.
  [[nodiscard]] Result<SearchResult> search(const UntrustedText& query, const QueryOptions& options) const;

  /// An answer from the passages that `search` gives, greedy. Passages that do not fit the model's context are left out
  /// from the end, which the evidence tells. No passage at all: an answer that says so, without asking the model.
  /// `on_text` (may be empty) gets the answer as it grows. Error: as `search`; InvalidArgument without a model; Limit
  /// where not even one passage fits; what the model says; Cancelled.
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
