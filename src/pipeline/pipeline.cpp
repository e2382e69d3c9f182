#include "casemate/pipeline/pipeline.h"

#include <algorithm>
#include <map>

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

}  // namespace

Pipeline::Pipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pipeline::~Pipeline() = default;

Result<std::unique_ptr<Pipeline>> Pipeline::create(const Store& store, const Encoder* encoder, LanguageModel* model,
                                                   const Policy& policy, const ThreadPool& pool) {
  if (policy.top_k < 1 || policy.top_k > 1000) return Error{ErrorCode::kInvalidOption, "top_k must be in 1 to 1000"};
  auto state = std::make_unique<State>();
  state->store = &store;
  state->model = model;
  state->policy = policy;
  for (const RetrievalMode mode : {RetrievalMode::kDense, RetrievalMode::kBm25, RetrievalMode::kHybrid}) {
    if (encoder == nullptr && mode != RetrievalMode::kBm25) continue;
    RetrieverOptions options = policy.retrieval;
    options.mode = mode;
    auto retriever = Retriever::create(store, encoder, options, pool);
    if (!retriever) return retriever.error();
    state->retrievers.emplace(mode, *std::move(retriever));
  }
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(state)));
}

Result<SearchResult> Pipeline::search(const UntrustedText& query, const QueryOptions& options) const {
  if (is_blank(query)) return Error{ErrorCode::kInvalidArgument, "the query is empty"};
  const int top_k = options.top_k.value_or(state_->policy.top_k);
  if (top_k < 1 || top_k > 1000) return Error{ErrorCode::kInvalidOption, "top_k must be in 1 to 1000"};
  const RetrievalMode mode = options.mode.value_or(state_->policy.retrieval.mode);
  const auto retriever = state_->retrievers.find(mode);
  if (retriever == state_->retrievers.end()) {
    return Error{ErrorCode::kInvalidArgument, std::string(retrieval_mode_name(mode)) + " retrieval needs an encoder"};
  }
  auto found = retriever->second->retrieve(options.tenant, std::span(&query, 1), top_k, options.filter);
  if (!found) return found.error();
  SearchResult result;
  result.query = query;
  result.policy = state_->policy.name;
  result.evidence.policy = state_->policy.name;
  StageEvidence stage;
  stage.stage = "retrieve";
  stage.parameters = {{"mode", std::string(retrieval_mode_name(mode))},
                      {"top_k", std::to_string(top_k)},
                      {"tenant", options.tenant},
                      {"filter", describe_filter(options.filter)}};
  if (mode == RetrievalMode::kHybrid)
    stage.parameters.emplace_back("fusion_k", std::to_string(state_->policy.retrieval.fusion_k));
  const auto snapshot = state_->store->snapshot(options.tenant);
  if (!snapshot) return snapshot.error();
  note_damage(**snapshot, stage);
  stage.passages_in = (*snapshot)->live_chunks();
  auto hits = load_hits(*state_->store, options.tenant, (*found)[0], stage);
  if (!hits) return hits.error();
  result.hits = *std::move(hits);
  stage.passages_out = result.hits.size();
  result.evidence.stages.push_back(std::move(stage));
  return result;
}

}  // namespace casemate
