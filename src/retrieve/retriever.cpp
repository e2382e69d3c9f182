#include "casemate/retrieve/retriever.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "retrieve/tenant_index.h"

namespace casemate {

std::string_view retrieval_mode_name(RetrievalMode mode) noexcept {
  switch (mode) {
    case RetrievalMode::kDense:
      return "dense";
    case RetrievalMode::kBm25:
      return "bm25";
    case RetrievalMode::kHybrid:
      return "hybrid";
  }
  return "dense";
}

Result<RetrievalMode> parse_retrieval_mode(std::string_view name) {
  for (const RetrievalMode mode : {RetrievalMode::kDense, RetrievalMode::kBm25, RetrievalMode::kHybrid}) {
    if (retrieval_mode_name(mode) == name) return mode;
  }
  return Error{ErrorCode::kInvalidOption,
               "mode \"" + UntrustedText(std::string(name)).for_log() + "\" is not one of dense, bm25, hybrid"};
}

EncoderIdentity identity_of(const EncoderInfo& encoder, std::string chunker, std::string chunker_parameters) {
  EncoderIdentity identity;
  identity.model = encoder.model;
  identity.model_hash = encoder.model_hash;
  identity.dimension = static_cast<int>(encoder.dimension);
  identity.pooling = pooling_name(encoder.pooling);
  identity.normalised = encoder.normalized;
  identity.query_prefix = encoder.query_prefix;
  identity.passage_prefix = encoder.passage_prefix;
  identity.max_tokens = encoder.max_tokens;
  identity.precision = precision_name(encoder.precision);
  identity.chunker = std::move(chunker);
  identity.chunker_parameters = std::move(chunker_parameters);
  return identity;
}

struct Retriever::State {
  const Store* store = nullptr;
  const Encoder* encoder = nullptr;
  const ThreadPool* pool = nullptr;
  RetrieverOptions options;
  mutable std::mutex mutex;
  mutable std::map<std::string, std::shared_ptr<const TenantIndex>, std::less<>> indexes;

  [[nodiscard]] Result<std::shared_ptr<const TenantIndex>> index(std::string_view tenant) const {
    auto snapshot = store->snapshot(tenant);
    if (!snapshot) return snapshot.error();
    const std::lock_guard lock(mutex);
    const auto it = indexes.find(tenant);
    if (it != indexes.end() && it->second->dense()->snapshot().generation() == (*snapshot)->generation())
      return it->second;
    auto made = TenantIndex::create(*store, tenant, *std::move(snapshot), options.candidates, *pool,
                                    it != indexes.end() ? it->second.get() : nullptr);
    // A tenant without vectors is not remembered: names that nobody has must not fill the memory.
    if (made && !(*made)->dense()->snapshot().blocks().empty()) indexes.insert_or_assign(std::string(tenant), *made);
    return made;
  }

  [[nodiscard]] Result<Embeddings> embed(std::span<const UntrustedText> queries) const {
    std::vector<std::string_view> texts;
    texts.reserve(queries.size());
    for (const UntrustedText& query : queries) texts.emplace_back(query.bytes());
    auto encoded = encoder->encode_queries(texts);
    if (!encoded) return encoded.error();
    return std::move(encoded->embeddings);
  }

  /// Searches, and says in `out` how.
  [[nodiscard]] Result<std::vector<std::vector<DenseHit>>> dense(std::string_view tenant, const Embeddings& queries,
                                                                 int depth, const ChunkSet* allowed,
                                                                 std::span<Candidates> out) const {
    auto made = index(tenant);
    if (!made) return made.error();
    for (Candidates& candidates : out) describe(**made, allowed, candidates);
    return (*made)->search(queries.values, queries.dimension, depth, allowed, options.candidates, *pool);
  }

  void describe(const TenantIndex& index, const ChunkSet* allowed, Candidates& out) const {
    if (options.candidates.method == CandidateMethod::kExact) return;
    if (!index.note().empty()) {
      out.notes.push_back(index.note());
    } else if (allowed != nullptr) {
      out.notes.emplace_back("every passage that the filter lets through was looked at");
    } else {
      out.method = index.method();
      out.notes.push_back("candidates by " + std::string(candidate_method_name(out.method)) +
                          ", scored exactly: near passages may be missing, and planted ones can make that likelier" +
                          (index.unproposed() == 0 ? std::string()
                                                   : "; " + std::to_string(index.unproposed()) +
                                                         " passages that came later were all looked at"));
    }
  }
};

Retriever::Retriever(std::unique_ptr<State> state) : state_(std::move(state)) {}
Retriever::~Retriever() = default;

Result<std::unique_ptr<Retriever>> Retriever::create(const Store& store, const Encoder* encoder,
                                                     const RetrieverOptions& options, const ThreadPool& pool) {
  if (options.fusion_k < 1 || options.fusion_k > 10000)
    return Error{ErrorCode::kInvalidOption, "fusion_k must be in 1 to 10000"};
  if (options.fusion_depth < 1 || options.fusion_depth > 100000)
    return Error{ErrorCode::kInvalidOption, "fusion_depth must be in 1 to 100000"};
  if (options.candidates.breadth < 0 || options.candidates.breadth > 65536)
    return Error{ErrorCode::kInvalidOption, "candidates: breadth must be in 0 to 65536"};
  if (options.candidates.rescored < 0 || options.candidates.rescored > 100000)
    return Error{ErrorCode::kInvalidOption, "candidates: rescored must be in 0 to 100000"};
  if (options.mode != RetrievalMode::kBm25 && encoder == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(retrieval_mode_name(options.mode)) + " retrieval needs an encoder"};
  }
  if (encoder != nullptr) {
    const EncoderIdentity& stored = store.encoder();
    const auto differing = differences(stored, identity_of(encoder->info(), stored.chunker, stored.chunker_parameters));
    if (!differing.empty())
      return Error{ErrorCode::kMismatch,
                   store.path() + ": the store was made with another encoder: " + describe(differing)};
  }
  auto state = std::make_unique<State>();
  state->store = &store;
  state->encoder = encoder;
  state->pool = &pool;
  state->options = options;
  return std::unique_ptr<Retriever>(new Retriever(std::move(state)));
}

Result<std::shared_ptr<const DenseIndex>> Retriever::dense_index(std::string_view tenant) const {
  auto index = state_->index(tenant);
  if (!index) return index.error();
  return (*index)->dense();
}

Result<std::vector<Candidates>> Retriever::retrieve(std::string_view tenant, std::span<const UntrustedText> queries,
                                                    int top_k, const DocumentFilter& filter) const {
  if (top_k < 0) return Error{ErrorCode::kInvalidArgument, "top_k must be at least 0"};
  const RetrieverOptions& options = state_->options;
  std::shared_ptr<const ChunkSet> allowed;
  if (!filter.lets_everything_through()) {
    auto selected = state_->store->select(tenant, filter);
    if (!selected) return selected.error();
    allowed = *std::move(selected);
  }
  const auto snapshot = state_->store->snapshot(tenant);
  if (!snapshot) return snapshot.error();
  std::vector<Candidates> out(queries.size());
  for (Candidates& candidates : out) candidates.searched = allowed ? allowed->size() : (*snapshot)->live_chunks();
  const int depth = options.mode == RetrievalMode::kHybrid ? std::max(top_k, options.fusion_depth) : top_k;
  std::vector<std::vector<DenseHit>> dense(queries.size());
  if (options.mode != RetrievalMode::kBm25) {
    auto embedded = state_->embed(queries);
    if (!embedded) return embedded.error();
    for (std::size_t q = 0; q < queries.size(); ++q)
      out[q].query_embedding.assign(embedded->row(q).begin(), embedded->row(q).end());
    auto found = state_->dense(tenant, *embedded, depth, allowed.get(), out);
    if (!found) return found.error();
    dense = *std::move(found);
  }
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<Bm25Hit> words;
    if (options.mode != RetrievalMode::kDense) {
      auto found = state_->store->bm25(tenant, queries[q], depth, allowed.get());
      if (!found) return found.error();
      words = *std::move(found);
    }
    // A list alone keeps its own scores; two are joined by rank.
    out[q].items = fuse_by_reciprocal_rank(dense[q], words, options.fusion_k);
    if (options.mode == RetrievalMode::kDense) {
      for (Candidate& item : out[q].items) item.score = static_cast<double>(*item.dense_score);
    } else if (options.mode == RetrievalMode::kBm25) {
      for (Candidate& item : out[q].items) item.score = *item.bm25_score;
    }
    if (out[q].items.size() > static_cast<std::size_t>(top_k)) out[q].items.resize(static_cast<std::size_t>(top_k));
  }
  return out;
}

}  // namespace casemate
