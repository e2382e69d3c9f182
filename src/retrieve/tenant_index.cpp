#include "retrieve/tenant_index.h"

#include <algorithm>

#include "casemate/retrieve/prepare_candidates.h"
#include "retrieve/chunk_set_of.h"
#include "retrieve/query_loop.h"
#include "retrieve/top_k.h"
#include "store/live_ids.h"

namespace casemate {
namespace {

constexpr int kRescoredPerResult = 10;
constexpr int kLeastRescored = 100;

}  // namespace

Result<std::shared_ptr<const TenantIndex>> TenantIndex::create(const Store& store, std::string_view tenant,
                                                               std::shared_ptr<const VectorSnapshot> snapshot,
                                                               const CandidateOptions& options, const ThreadPool& pool,
                                                               const TenantIndex* previous) {
  auto index = std::make_shared<TenantIndex>();
  auto dense = DenseIndex::create(std::move(snapshot), pool, DenseScan::kInt8,
                                  previous != nullptr ? previous->dense_.get() : nullptr);
  if (!dense) return dense.error();
  index->dense_ = *std::move(dense);
  if (options.method != CandidateMethod::kExact) {
    if (Status proposed = index->propose_by(store, tenant, options, previous); !proposed) return proposed.error();
  }
  return std::shared_ptr<const TenantIndex>(std::move(index));
}

Status TenantIndex::propose_by(const Store& store, std::string_view tenant, const CandidateOptions& options,
                               const TenantIndex* previous) {
  const std::string name(candidate_method_name(options.method));
  const VectorSnapshot& snapshot = dense_->snapshot();
  if (snapshot.live_chunks() < options.exact_below) {
    note_ = "every passage was looked at: with fewer than " + std::to_string(options.exact_below) +
            " that is faster than " + name;
    return {};
  }
  const auto file = candidates_file(store, tenant, options.method);
  if (!file) return file.error();
  if (file->empty()) {
    note_ = "every passage was looked at: there are no candidates by " + name + " (casemate prepare --candidates " +
            name + " makes them)";
    return {};
  }
  if (previous != nullptr && previous->candidates_ && previous->file_ == *file) {
    candidates_ = previous->candidates_;
  } else if (auto shelved = options.shelf ? options.shelf->find(*file) : nullptr) {
    candidates_ = std::move(shelved);
  } else {
    auto loaded = load_candidates(store, *file);
    if (!loaded) {
      // The error has the store's path, which is nobody's business who may only ask.
      note_ = "every passage was looked at: the file of candidates by " + name +
              " is missing or damaged (casemate prepare --candidates " + name + " makes it anew)";
      return {};
    }
    candidates_ = *std::move(loaded);
    if (options.shelf) options.shelf->put(*file, candidates_);
  }
  file_ = *file;
  std::vector<ChunkId> known = live_ids(snapshot);
  const auto late =
      std::stable_partition(known.begin(), known.end(), [&](ChunkId id) { return candidates_->chunks().contains(id); });
  unproposed_ = chunk_set_of(std::span(late, known.end()));
  known.erase(late, known.end());
  live_proposed_ = known.size();
  if (live_proposed_ < candidates_->chunks().size()) proposable_ = chunk_set_of(known);
  return {};
}

CandidateMethod TenantIndex::method() const noexcept {
  return candidates_ ? candidates_->method() : CandidateMethod::kExact;
}

Result<std::vector<std::vector<DenseHit>>> TenantIndex::search(std::span<const float> queries, std::size_t dimension,
                                                               int top_k, const ChunkSet* allowed,
                                                               const CandidateOptions& options,
                                                               const ThreadPool& pool) const {
  // A filter may leave few passages, which a graph or a few cells would miss.
  if (!candidates_ || allowed != nullptr) return dense_->search(queries, dimension, top_k, allowed, pool);
  // Checked before the candidates are asked: what is not finite has no neighbours.
  if (Status checked = dense_->check_queries(queries, dimension, top_k); !checked) return checked.error();
  return for_each_query(queries.size() / dimension, pool, [&](std::size_t q) {
    return search_proposed(queries.subspan(q * dimension, dimension), top_k, options, pool);
  });
}

Result<std::vector<DenseHit>> TenantIndex::search_proposed(std::span<const float> query, int top_k,
                                                           const CandidateOptions& options,
                                                           const ThreadPool& pool) const {
  const int usual = std::max(kLeastRescored, kRescoredPerResult * std::min(top_k, 100000));
  const auto count = static_cast<std::size_t>(std::max(options.rescored > 0 ? options.rescored : usual, top_k));
  const auto proposed = candidates_->find(query, count, options.breadth, proposable_ ? &*proposable_ : nullptr);
  if (!proposed) return proposed.error();
  auto best = dense_->rescore(query, *proposed, top_k);
  if (!best) return best;
  if (best->size() < std::min(static_cast<std::size_t>(top_k), live_proposed_)) {
    // Cells or a graph that give too few must not cost anyone results.
    auto exact = dense_->search(query, query.size(), top_k, nullptr, pool);
    if (!exact) return exact.error();
    return std::move((*exact)[0]);
  }
  if (unproposed_.empty()) return best;
  const auto late = dense_->search(query, query.size(), top_k, &unproposed_, pool);
  if (!late) return late.error();
  TopK joined(static_cast<std::size_t>(top_k));
  for (const DenseHit& hit : *best) joined.add(hit);
  for (const DenseHit& hit : (*late)[0]) joined.add(hit);
  return std::move(joined).sorted();
}

}  // namespace casemate
