#include "casemate/pipeline/pipeline.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "pipeline/defend_hits.h"
#include "pipeline/pipeline_state.h"
#include "pipeline/search.h"

namespace casemate {
namespace {

bool is_blank(const UntrustedText& text) { return text.bytes().find_first_not_of(" \t\r\n") == std::string::npos; }

void note_damage(const VectorSnapshot& snapshot, StageEvidence& stage) {
  for (const DamagedSegment& segment : snapshot.damaged()) {
    stage.notes.push_back(segment.file + " is damaged (" + segment.reason +
                          "): its passages are not searched; index their documents again");
  }
}

/// Why a policy's candidates are what they are.
Parameters retrieval_parameters(const QueryOptions& options, RetrievalMode mode, int top_k, int fusion_k) {
  Parameters out = {{"mode", std::string(retrieval_mode_name(mode))},
                    {"top_k", std::to_string(top_k)},
                    {"tenant", options.tenant},
                    {"filter", describe_filter(options.filter)}};
  if (mode == RetrievalMode::kHybrid) out.emplace_back("fusion_k", std::to_string(fusion_k));
  return out;
}

/// Error: InvalidOption for a name that is none of the policy's defences, or of one that scans.
Status check_may_fail(const Policy& policy) {
  for (const std::string& name : policy.may_fail) {
    const auto entry = find_defence(name);
    if (!entry) return entry.error();
    if ((*entry)->scans)
      return Error{ErrorCode::kInvalidOption, name + " finds the passages: a query cannot go on without it"};
  }
  return {};
}

/// Not where the request was at fault: a client that names a mode which a defence cannot serve must not get round it.
bool failed_by_itself(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout || code == ErrorCode::kModel ||
         code == ErrorCode::kIo || code == ErrorCode::kCorrupt;
}

/// Adds what a stage took to the evidence when it ends.
class StageClock {
 public:
  explicit StageClock(Evidence& evidence) : evidence_(evidence) {}
  void lap(std::string stage) {
    const auto now = std::chrono::steady_clock::now();
    evidence_.times.push_back({std::move(stage), std::chrono::duration<double>(now - began_).count()});
    began_ = now;
  }

 private:
  Evidence& evidence_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

Pipeline::Pipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::create(const PipelineParts& parts, const Policy& policy) {
  if (parts.store == nullptr || parts.pool == nullptr)
    return Error{ErrorCode::kInvalidArgument, "a pipeline needs a store and a thread pool"};
  if (policy.top_k < 1 || policy.top_k > 1000) return Error{ErrorCode::kInvalidOption, "top_k must be in 1 to 1000"};
  auto state = std::make_unique<State>();
  state->parts = parts;
  state->policy = policy;
  for (const RetrievalMode mode : {RetrievalMode::kDense, RetrievalMode::kBm25, RetrievalMode::kHybrid}) {
    if (parts.encoder == nullptr && mode != RetrievalMode::kBm25) continue;
    RetrieverOptions options = policy.retrieval;
    options.mode = mode;
    auto retriever = Retriever::create(*parts.store, parts.encoder, options, *parts.pool);
    if (!retriever) return retriever.error();
    state->retrievers.emplace(mode, *std::move(retriever));
  }
  DefenceServices services;
  services.encoder = parts.encoder;
  services.model = parts.model;
  services.reranker = parts.reranker;
  services.store = parts.store;
  services.cache = parts.cache;
  if (parts.cache == nullptr) {
    auto cache = make_memory_passage_cache();
    if (!cache) return cache.error();
    state->own_cache = *std::move(cache);
    services.cache = state->own_cache.get();
  }
  services.pool = parts.pool;
  if (Status known = check_may_fail(policy); !known) return known.error();
  if (Status added = state->add_defences(services); !added) return added.error();
  if (Status ready = state->prepare_generation(); !ready) return ready.error();
  if (Status ready = state->prepare_protection(); !ready) return ready.error();
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(state)));
}

bool Pipeline::State::may_fail(std::string_view defence) const {
  return std::find(policy.may_fail.begin(), policy.may_fail.end(), defence) != policy.may_fail.end();
}

Status Pipeline::State::add_defences(const DefenceServices& services) {
  for (std::size_t i = 0; i < policy.defences.size(); ++i) {
    const auto entry = find_defence(policy.defences[i].name);
    if (!entry) return entry.error();
    if (!(*entry)->scans) {
      auto made = create_defence(policy.defences[i], services);
      if (!made && made.error().code != ErrorCode::kInvalidOption && may_fail(policy.defences[i].name)) {
        missing.push_back({policy.defences[i].name, made.error().message});
        continue;
      }
      if (!made) return made.error();
      defences.push_back(*std::move(made));
      continue;
    }
    if (i > 0) {
      return Error{ErrorCode::kInvalidOption, policy.defences[i].name +
                                                  " takes the place of the scan, so it must be the first defence, not "
                                                  "number " +
                                                  std::to_string(i + 1)};
    }
    auto made = create_scan_defence(policy.defences[i], services);
    if (!made) return made.error();
    scan = *std::move(made);
  }
  return {};
}

Result<Candidates> Pipeline::State::find(const DefenceQuery& query, const QueryOptions& options, RetrievalMode mode,
                                         int top_k, StageEvidence& stage, std::stop_token stop) const {
  stage.stage = scan ? std::string(scan->name()) : "retrieve";
  stage.parameters = retrieval_parameters(options, mode, top_k, policy.retrieval.fusion_k);
  if (!scan) {
    auto found = retrievers.at(mode)->retrieve(options.tenant, std::span(&query.text, 1), top_k, options.filter);
    if (!found) return found.error();
    Candidates& first = (*found)[0];
    if (policy.retrieval.candidates.method != CandidateMethod::kExact && mode != RetrievalMode::kBm25)
      stage.parameters.emplace_back("candidates", candidate_method_name(first.method));
    stage.notes = first.notes;
    return std::move(first);
  }
  for (auto& parameter : scan->parameters()) stage.parameters.push_back(std::move(parameter));
  std::shared_ptr<const ChunkSet> allowed;
  if (!options.filter.lets_everything_through()) {
    auto selected = parts.store->select(options.tenant, options.filter);
    if (!selected) return selected.error();
    allowed = *std::move(selected);
  }
  auto outcome = scan->scan(*parts.store, query, top_k, allowed.get(), *parts.pool, std::move(stop));
  if (!outcome) return Error{outcome.error().code, stage.stage + ": " + outcome.error().message};
  stage.verdicts = std::move(outcome->verdicts);
  stage.notes = std::move(outcome->notes);
  const auto snapshot = parts.store->snapshot(options.tenant);
  if (!snapshot) return snapshot.error();
  outcome->candidates.searched = allowed ? allowed->size() : (*snapshot)->live_chunks();
  return std::move(outcome->candidates);
}

Result<SearchResult> Pipeline::search(const UntrustedText& query, const QueryOptions& options,
                                      std::stop_token stop) const {
  if (is_blank(query)) return Error{ErrorCode::kInvalidArgument, "the query is empty"};
  const int top_k = options.top_k.value_or(state_->policy.top_k);
  if (top_k < 1 || top_k > 1000) return Error{ErrorCode::kInvalidOption, "top_k must be in 1 to 1000"};
  const RetrievalMode mode = options.mode.value_or(state_->policy.retrieval.mode);
  if (!state_->retrievers.contains(mode)) {
    return Error{ErrorCode::kInvalidArgument, std::string(retrieval_mode_name(mode)) + " retrieval needs an encoder"};
  }
  if (state_->scan && mode != RetrievalMode::kDense) {
    return Error{ErrorCode::kInvalidArgument, std::string(state_->scan->name()) +
                                                  " replaces the dense scan: it cannot run with " +
                                                  std::string(retrieval_mode_name(mode)) + " retrieval"};
  }
  SearchResult result;
  result.query = query;
  result.policy = state_->policy.name;
  result.evidence.policy = state_->policy.name;
  result.evidence.degraded = state_->missing;
  StageClock clock(result.evidence);
  DefenceQuery asked;
  asked.text = query;
  asked.tenant = options.tenant;
  asked.seed = options.seed;
  asked.filter = options.filter;
  if (state_->scan) {
    const std::string_view text = query.bytes();
    auto encoded = state_->parts.encoder->encode_queries(std::span(&text, 1));
    if (!encoded) return encoded.error();
    asked.embedding = std::move(encoded->embeddings.values);
  }
  const std::vector<int> sizes = stage_sizes(state_->defences, top_k);
  StageEvidence first;
  auto found = state_->find(asked, options, mode, sizes[0], first, stop);
  if (!found) return found.error();
  // Undefended retrieval has embedded the query already; for words alone there is nothing to embed.
  if (!state_->scan) asked.embedding = found->query_embedding;
  const auto snapshot = state_->parts.store->snapshot(options.tenant);
  if (!snapshot) return snapshot.error();
  note_damage(**snapshot, first);
  first.passages_in = found->searched;
  std::shared_ptr<const DenseIndex> index;
  if (mode != RetrievalMode::kBm25 && !state_->defences.empty()) {
    auto dense = state_->retrievers.at(mode)->dense_index(options.tenant);
    if (!dense) return dense.error();
    index = *std::move(dense);
  }
  auto loaded = load_hits(*state_->parts.store, options.tenant, *found, index.get(), first);
  if (!loaded) return loaded.error();
  if (index) {
    if (Status embedded = embed_missing(*state_->parts.encoder, loaded->passages, first); !embedded)
      return embedded.error();
  }
  first.passages_out = loaded->hits.size();
  clock.lap(first.stage);
  result.evidence.stages.push_back(std::move(first));
  result.hits = std::move(loaded->hits);
  std::map<ChunkId, PassageCandidate> passages;
  for (PassageCandidate& passage : loaded->passages) passages.emplace(passage.chunk, std::move(passage));
  for (std::size_t i = 0; i < state_->defences.size(); ++i) {
    if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "stopped between defences"};
    std::vector<PassageCandidate> candidates;
    for (const Hit& hit : result.hits) {
      PassageCandidate candidate = passages.at(hit.id);
      candidate.score = hit.candidate.score;
      candidates.push_back(std::move(candidate));
    }
    StageEvidence stage;
    // Only the first defence sees the plain ranking; a later one must not bring back what others dropped.
    asked.may_extend = i == 0 && !state_->scan && mode == RetrievalMode::kDense;
    std::vector<PassageCandidate> added;
    const RetrievalDefence& defence = *state_->defences[i];
    std::vector<Hit> before = state_->may_fail(defence.name()) ? result.hits : std::vector<Hit>();
    auto kept = defend_hits(defence, *state_->parts.store, asked, std::move(result.hits), candidates, sizes[i + 1],
                            stage, added, stop);
    if (!kept && failed_by_itself(kept.error().code) && state_->may_fail(defence.name())) {
      before.resize(std::min(before.size(), static_cast<std::size_t>(sizes[i + 1])));
      result.hits = std::move(before);
      result.evidence.degraded.push_back({std::string(defence.name()), kept.error().message});
      clock.lap(std::string(defence.name()));
      continue;
    }
    if (!kept) return kept.error();
    clock.lap(std::string(defence.name()));
    for (PassageCandidate& passage : added) passages.emplace(passage.chunk, std::move(passage));
    result.hits = *std::move(kept);
    result.evidence.stages.push_back(std::move(stage));
  }
  if (options.explain) {
    if (Status explained = state_->explain(options, mode, top_k, result); !explained) return explained.error();
  }
  return result;
}

}  // namespace casemate
