// casemate/retrieve/candidate_index.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/store/vector_snapshot.h"

namespace casemate {

class CandidateIndex;

/// How the passages are found that dense retrieval scores.
enum class CandidateMethod : std::uint8_t {
  kExact,  ///< every passage is looked at: what is found is right whatever the corpus holds
  kHnsw,   ///< a graph of near neighbours (Malkov and Yashunin 2018; FAISS): may miss passages
  kIvf,    ///< cells around k-means centres (Sivic and Zisserman 2003; FAISS): may miss passages
};

[[nodiscard]] std::string_view candidate_method_name(CandidateMethod method) noexcept;  ///< "exact", "hnsw", "ivf"
/// Error: InvalidOption, listing the names.
[[nodiscard]] Result<CandidateMethod> parse_candidate_method(std::string_view name);

/// Candidate indexes that were read, by the hash of their file, for all retrievers that are given the same shelf: they
/// are large. Keeps what someone uses. Thread-safe.
class CandidateShelf {
 public:
  /// What was read from the file of this name before; null where nobody uses it any more, or never did.
  [[nodiscard]] std::shared_ptr<const CandidateIndex> find(const std::string& file) const;
  void put(const std::string& file, const std::shared_ptr<const CandidateIndex>& index);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const CandidateIndex>> by_file_;
};

struct CandidateOptions {
  CandidateMethod method = CandidateMethod::kExact;
  /// HNSW: nodes kept while searching (efSearch); IVF: cells looked into. 0: 128, or a sixteenth of the cells, at least
  /// 8. In [0, 65536].
  int breadth = 0;
  /// Candidates that are scored exactly, at least top_k. 0: ten times top_k, at least 100. In [0, 100000].
  int rescored = 0;
  /// A tenant with fewer passages is scanned exactly, since that is fast enough (docs/retrieval.md).
  std::size_t exact_below = 1000000;
  std::shared_ptr<CandidateShelf> shelf{};  ///< null: each retriever reads its own
};

/// Proposes passages of one snapshot that are near to a query by inner product, over 8-bit copies of the embeddings in
/// memory. Immutable, thread-safe.
///
/// A proposal is no promise: near passages may be missing, and whoever plants passages can make that likelier. Callers
/// score what is proposed by DenseIndex::rescore, so that scores and order are exact among the proposed.
class CandidateIndex {
 public:
  struct Data;
  explicit CandidateIndex(std::unique_ptr<Data> data);
  ~CandidateIndex();

  /// Over the live chunks of `snapshot`. HNSW is built by one thread, so that the same passages give the same graph,
  /// with all embeddings in memory as floats until it is whole; IVF's centres may differ in the last bits between
  /// numbers of threads. Error: InvalidArgument (kExact, no chunk, several rows a chunk); Cancelled; Limit (memory);
  /// what `read_rows` says.
  [[nodiscard]] static Result<std::unique_ptr<CandidateIndex>> build(const VectorSnapshot& snapshot,
                                                                     CandidateMethod method, const ThreadPool& pool,
                                                                     Progress& progress, std::stop_token stop);
  /// The bytes of `serialise` again. Only for bytes whose hash is known to be that of an index made here: what FAISS
  /// reads is not checked against malice. Error: Corrupt.
  [[nodiscard]] static Result<std::unique_ptr<CandidateIndex>> deserialise(std::string_view bytes);
  [[nodiscard]] Result<std::string> serialise() const;

  [[nodiscard]] CandidateMethod method() const noexcept;
  [[nodiscard]] std::size_t dimension() const noexcept;
  /// Chunks that it was built from, deleted ones included.
  [[nodiscard]] const ChunkSet& chunks() const noexcept;
  /// At most `count` chunks near to `query` [d], finite, in no particular order. Only chunks of `allowed` (null: all)
  /// are found, and take no other's place. `breadth` as in CandidateOptions. Error: InvalidArgument (dimension); Limit
  /// (memory).
  [[nodiscard]] Result<std::vector<ChunkId>> find(std::span<const float> query, std::size_t count, int breadth,
                                                  const ChunkSet* allowed = nullptr) const;

 private:
  std::unique_ptr<Data> data_;
};

}  // namespace casemate
