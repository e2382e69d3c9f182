#include "casemate/retrieve/candidate_index.h"

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVF.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/IDSelector.h>
#include <faiss/impl/io.h>
#include <faiss/index_io.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>

#include "casemate/core/untrusted_text.h"
#include "retrieve/chunk_set_of.h"

namespace casemate {
namespace {

constexpr std::string_view kMagic = "casemate-candidates-1\n";
constexpr int kLinks = 32;            // of a node of the graph: FAISS's usual M
constexpr int kBuildBreadth = 128;    // efConstruction
constexpr std::size_t kBatch = 4096;  // rows added before the stop is looked at
constexpr std::size_t kPerCell = 64;  // rows a cell that k-means learns from; FAISS asks for at least 39

/// FAISS works with as many OpenMP threads as the calling thread may start; others' work on this thread keeps its own.
class OmpThreads {
 public:
#ifdef _OPENMP
  explicit OmpThreads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~OmpThreads() { omp_set_num_threads(before_); }

 private:
  int before_;
#else
  explicit OmpThreads(int) {}
#endif

 public:
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;
};

/// What FAISS throws as an error of ours.
template <typename Work>
auto guarded(Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, "candidate index: not enough memory"};
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kCorrupt, std::string("candidate index: ") + UntrustedText(failure.what()).for_log()};
  }
}

std::size_t cells_for(std::size_t rows) {
  const auto usual = static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(rows)));
  return std::clamp<std::size_t>(usual, 1, std::max<std::size_t>(1, rows / kPerCell));
}

/// Live chunks of a snapshot, and their rows by position.
struct LiveRows {
  struct Place {
    std::size_t block;
    std::size_t position;
  };
  std::vector<ChunkId> ids;
  std::vector<Place> places;

  explicit LiveRows(const VectorSnapshot& snapshot) {
    for (std::size_t b = 0; b < snapshot.blocks().size(); ++b) {
      const VectorBlock& block = snapshot.blocks()[b];
      for (std::size_t i = 0; i < block.chunks; ++i) {
        if (block.live[i] == 0) continue;
        ids.push_back(block.chunk_ids[i]);
        places.push_back({b, i});
      }
    }
  }

  [[nodiscard]] Status read(const VectorSnapshot& snapshot, std::size_t index, std::span<float> out) const {
    return snapshot.read_rows(places[index].block, places[index].position, 1, out);
  }
};

std::unique_ptr<faiss::Index> empty_index(CandidateMethod method, int dimension, std::size_t rows) {
  constexpr auto kCode = faiss::ScalarQuantizer::QT_8bit;
  if (method == CandidateMethod::kHnsw)
    return std::make_unique<faiss::IndexHNSWSQ>(dimension, kCode, kLinks, faiss::METRIC_INNER_PRODUCT);
  auto centres = std::make_unique<faiss::IndexFlatIP>(dimension);
  auto index = std::make_unique<faiss::IndexIVFScalarQuantizer>(centres.get(), static_cast<std::size_t>(dimension),
                                                                cells_for(rows), kCode, faiss::METRIC_INNER_PRODUCT);
  index->quantizer = centres.release();
  index->own_fields = true;
  index->cp.min_points_per_centroid = 1;  // fewer than it likes are no reason to print
  return index;
}

/// Adds to an index of codes. A graph's links are found between the rows as floats: FAISS decodes both codes for every
/// distance while it links, which takes many times as long, and its graph is worse.
class Adder {
 public:
  explicit Adder(faiss::Index& index) : index_(index), coded_(dynamic_cast<faiss::IndexHNSWSQ*>(&index)) {
    if (coded_ == nullptr) return;
    linked_.emplace(index.d, kLinks, faiss::METRIC_INNER_PRODUCT);
    linked_->hnsw.efConstruction = kBuildBreadth;
  }
  void add(std::span<const float> rows) {
    const auto count = static_cast<faiss::Index::idx_t>(rows.size() / static_cast<std::size_t>(index_.d));
    if (coded_ == nullptr) {
      index_.add(count, rows.data());
      return;
    }
    linked_->add(count, rows.data());
    coded_->storage->add(count, rows.data());
  }
  /// To be called once, after the last rows.
  void finish() {
    if (coded_ == nullptr) return;
    coded_->hnsw = std::move(linked_->hnsw);
    coded_->ntotal = coded_->storage->ntotal;
  }

 private:
  faiss::Index& index_;
  faiss::IndexHNSWSQ* coded_;                   ///< null: not a graph
  std::optional<faiss::IndexHNSWFlat> linked_;  ///< the graph until it is whole
};

/// Lets FAISS find the allowed ones alone.
class AllowedIds final : public faiss::IDSelector {
 public:
  AllowedIds(const std::vector<ChunkId>& ids, const ChunkSet& allowed) : ids_(ids), allowed_(allowed) {}
  [[nodiscard]] bool is_member(faiss::Index::idx_t id) const override {
    return id >= 0 && static_cast<std::size_t>(id) < ids_.size() &&
           allowed_.contains(ids_[static_cast<std::size_t>(id)]);
  }

 private:
  const std::vector<ChunkId>& ids_;
  const ChunkSet& allowed_;
};

}  // namespace

std::shared_ptr<const CandidateIndex> CandidateShelf::find(const std::string& file) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_file_.find(file);
  return known == by_file_.end() ? nullptr : known->second.lock();
}

void CandidateShelf::put(const std::string& file, const std::shared_ptr<const CandidateIndex>& index) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_file_, [](const auto& entry) { return entry.second.expired(); });
  by_file_.insert_or_assign(file, index);
}

struct CandidateIndex::Data {
  CandidateMethod method = CandidateMethod::kHnsw;
  std::vector<ChunkId> ids;  ///< by FAISS's number
  ChunkSet chunks;
  std::unique_ptr<faiss::Index> index;
};

CandidateIndex::CandidateIndex(std::unique_ptr<Data> data) : data_(std::move(data)) {}
CandidateIndex::~CandidateIndex() = default;

std::string_view candidate_method_name(CandidateMethod method) noexcept {
  switch (method) {
    case CandidateMethod::kExact:
      return "exact";
    case CandidateMethod::kHnsw:
      return "hnsw";
    case CandidateMethod::kIvf:
      return "ivf";
  }
  return "exact";
}

Result<CandidateMethod> parse_candidate_method(std::string_view name) {
  for (const auto method : {CandidateMethod::kExact, CandidateMethod::kHnsw, CandidateMethod::kIvf}) {
    if (candidate_method_name(method) == name) return method;
  }
  return Error{ErrorCode::kInvalidOption,
               "candidates \"" + UntrustedText(std::string(name)).for_log() + "\" is not one of exact, hnsw, ivf"};
}

Result<std::unique_ptr<CandidateIndex>> CandidateIndex::build(const VectorSnapshot& snapshot, CandidateMethod method,
                                                              const ThreadPool& pool, Progress& progress,
                                                              std::stop_token stop) {
  if (method == CandidateMethod::kExact)
    return Error{ErrorCode::kInvalidArgument, "an exact scan needs no candidate index"};
  for (const VectorBlock& block : snapshot.blocks()) {
    if (block.rows_per_chunk != 1)
      return Error{ErrorCode::kInvalidArgument, block.file + ": has several rows a chunk, candidates need one"};
  }
  LiveRows rows(snapshot);
  if (rows.ids.empty()) return Error{ErrorCode::kInvalidArgument, "there are no passages to make candidates from"};
  const auto d = static_cast<std::size_t>(snapshot.blocks()[0].dimension);
  return guarded([&]() -> Result<std::unique_ptr<CandidateIndex>> {
    const OmpThreads threads(method == CandidateMethod::kHnsw ? 1 : pool.threads());
    auto data = std::make_unique<Data>();
    data->method = method;
    data->index = empty_index(method, static_cast<int>(d), rows.ids.size());
    // Codes and centres are learnt from rows spread evenly over the corpus.
    const std::size_t wanted = std::max<std::size_t>(cells_for(rows.ids.size()) * kPerCell, 16384);
    const std::size_t step = std::max<std::size_t>(1, rows.ids.size() / wanted);
    std::vector<float> values;
    for (std::size_t i = 0; i < rows.ids.size(); i += step) {
      values.resize(values.size() + d);
      if (Status read = rows.read(snapshot, i, std::span(values).last(d)); !read) return read.error();
    }
    data->index->train(static_cast<faiss::Index::idx_t>(values.size() / d), values.data());
    Adder adder(*data->index);
    progress.begin("candidates by " + std::string(candidate_method_name(method)), rows.ids.size(), "passages");
    for (std::size_t first = 0; first < rows.ids.size(); first += kBatch) {
      if (stop.stop_requested()) {
        progress.end();
        return Error{ErrorCode::kCancelled, "stopped while making candidates; what was there before is kept"};
      }
      const std::size_t count = std::min(kBatch, rows.ids.size() - first);
      values.resize(count * d);
      for (std::size_t i = 0; i < count; ++i) {
        if (Status read = rows.read(snapshot, first + i, std::span(values).subspan(i * d, d)); !read) {
          progress.end();
          return read.error();
        }
      }
      adder.add(values);
      progress.update(first + count);
    }
    adder.finish();
    progress.end();
    data->ids = std::move(rows.ids);
    data->chunks = chunk_set_of(data->ids);
    return std::make_unique<CandidateIndex>(std::move(data));
  });
}

Result<std::string> CandidateIndex::serialise() const {
  return guarded([&]() -> Result<std::string> {
    faiss::VectorIOWriter writer;
    faiss::write_index(data_->index.get(), &writer);
    std::string out(kMagic);
    out += static_cast<char>('0' + static_cast<int>(data_->method));
    const std::uint64_t count = data_->ids.size();
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    out.append(reinterpret_cast<const char*>(data_->ids.data()), count * sizeof(ChunkId));
    out.append(reinterpret_cast<const char*>(writer.data.data()), writer.data.size());
    return out;
  });
}

Result<std::unique_ptr<CandidateIndex>> CandidateIndex::deserialise(std::string_view bytes) {
  const auto corrupt = [] { return Error{ErrorCode::kCorrupt, "not a candidate index of this version"}; };
  constexpr std::size_t kHeader = kMagic.size() + 1 + sizeof(std::uint64_t);
  if (bytes.size() < kHeader || !bytes.starts_with(kMagic)) return corrupt();
  auto data = std::make_unique<Data>();
  const int method = bytes[kMagic.size()] - '0';
  if (method != static_cast<int>(CandidateMethod::kHnsw) && method != static_cast<int>(CandidateMethod::kIvf))
    return corrupt();
  data->method = static_cast<CandidateMethod>(method);
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + kMagic.size() + 1, sizeof count);
  bytes.remove_prefix(kHeader);
  if (count > bytes.size() / sizeof(ChunkId)) return corrupt();
  return guarded([&]() -> Result<std::unique_ptr<CandidateIndex>> {
    data->ids.resize(count);
    std::memcpy(data->ids.data(), bytes.data(), count * sizeof(ChunkId));
    bytes.remove_prefix(count * sizeof(ChunkId));
    faiss::VectorIOReader reader;
    reader.data.assign(bytes.begin(), bytes.end());
    data->index.reset(faiss::read_index(&reader));
    if (data->index == nullptr || data->index->ntotal != static_cast<faiss::Index::idx_t>(count)) return corrupt();
    data->chunks = chunk_set_of(data->ids);
    return std::make_unique<CandidateIndex>(std::move(data));
  });
}

CandidateMethod CandidateIndex::method() const noexcept { return data_->method; }
std::size_t CandidateIndex::dimension() const noexcept { return static_cast<std::size_t>(data_->index->d); }
const ChunkSet& CandidateIndex::chunks() const noexcept { return data_->chunks; }

Result<std::vector<ChunkId>> CandidateIndex::find(std::span<const float> query, std::size_t count, int breadth,
                                                  const ChunkSet* allowed) const {
  if (query.size() != dimension())
    return Error{ErrorCode::kInvalidArgument, "a query has dimension " + std::to_string(query.size()) +
                                                  ", the candidate index has " + std::to_string(dimension())};
  count = std::min(count, data_->ids.size());
  if (count == 0) return std::vector<ChunkId>();
  return guarded([&]() -> Result<std::vector<ChunkId>> {
    const OmpThreads alone(1);  // queries run beside one another, each by itself
    // FAISS 1.7 keeps as many nodes while it searches as it is asked for, whatever efSearch says, so it is asked for
    // more.
    std::size_t asked = count;
    faiss::SearchParametersHNSW graph;
    if (data_->method == CandidateMethod::kHnsw) {
      asked = std::clamp<std::size_t>(static_cast<std::size_t>(breadth > 0 ? breadth : 128), count, data_->ids.size());
      graph.efSearch = static_cast<int>(asked);
    }
    faiss::SearchParametersIVF cells;
    if (const auto* ivf = dynamic_cast<const faiss::IndexIVF*>(data_->index.get()); ivf != nullptr) {
      const std::size_t usual = std::max<std::size_t>(8, ivf->nlist / 16);
      cells.nprobe = std::min(ivf->nlist, breadth > 0 ? static_cast<std::size_t>(breadth) : usual);
    }
    std::optional<AllowedIds> selector;
    if (allowed != nullptr) graph.sel = cells.sel = &selector.emplace(data_->ids, *allowed);
    const faiss::SearchParameters* parameters = &graph;
    if (data_->method == CandidateMethod::kIvf) parameters = &cells;
    std::vector<float> distances(asked);
    std::vector<faiss::Index::idx_t> labels(asked, -1);
    data_->index->search(1, query.data(), static_cast<faiss::Index::idx_t>(asked), distances.data(), labels.data(),
                         parameters);
    labels.resize(count);  // the nearest come first
    std::vector<ChunkId> out;
    for (const faiss::Index::idx_t label : labels) {
      if (label >= 0 && static_cast<std::size_t>(label) < data_->ids.size())
        out.push_back(data_->ids[static_cast<std::size_t>(label)]);
    }
    return out;
  });
}

}  // namespace casemate
