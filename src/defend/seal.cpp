#include "casemate/defend/seal.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "casemate/core/clock.h"
#include "casemate/core/random.h"
#include "casemate/retrieve/dense_index.h"
#include "defend/candidate_vectors.h"
#include "defend/seal_record.h"
#include "defend/sealed_documents.h"
#include "defend/sealed_texts.h"
#include "defend/sketch_secret.h"

namespace casemate {
namespace {

Error stopped() { return {ErrorCode::kCancelled, "stopped; the seal is as it was"}; }

/// The version of the seal that is there. 0: none. A damaged or foreign one counts where it may be replaced.
Result<std::int64_t> last_version(const Store& store, const SigningKey& key, const SealOptions& options) {
  const auto last = read_seal(store, options.tenant);
  if (!last) {
    const ErrorCode code = last.error().code;
    const bool unusable = code == ErrorCode::kCorrupt || code == ErrorCode::kMismatch;
    if (options.replace_foreign && unusable) return std::int64_t{0};
    return last.error();
  }
  if (!*last) return std::int64_t{0};
  if ((*last)->public_key != key.public_key() && !options.replace_foreign) {
    return Error{ErrorCode::kPermission, "the documents were sealed with another key, " + to_hex((*last)->public_key) +
                                             " (--force replaces its seal)"};
  }
  return (*last)->version;
}

/// `count` of the passages, drawn without replacement, in ascending order.
std::vector<PassageMark> sample(std::span<const PassageMark> marks, std::size_t count, std::uint64_t seed) {
  std::vector<PassageMark> out;
  RandomStream random(seed, "seal/calibration");
  std::size_t wanted = std::min(count, marks.size());
  for (std::size_t i = 0; i < marks.size() && wanted > 0; ++i) {
    if (random.below(marks.size() - i) >= wanted) continue;
    out.push_back(marks[i]);
    --wanted;
  }
  return out;
}

ShingleSet shingles_of(const UntrustedText& text, const ShingleKey& key) {
  return shingles(comparison_words(comparison_text(text.bytes())), key);
}

class Calibrating {
 public:
  Calibrating(const Store& store, std::string_view tenant, const SealedTexts& texts, const DenseIndex& index,
              const ChunkSet& sealed, const ShingleKey& key, const ThreadPool& pool)
      : store_(store), tenant_(tenant), texts_(texts), index_(index), sealed_(sealed), key_(key), pool_(pool) {}

  Status take(std::span<const PassageMark> marks, SealCalibration& out) {
    std::vector<const PassageMark*> with_rows;
    std::vector<float> queries;
    std::size_t d = 0;
    for (const PassageMark& mark : marks) {
      auto row = index_.row(mark.chunk);
      if (!row) return row.error();
      if (row->empty()) continue;  // its segment is damaged
      d = row->size();
      queries.insert(queries.end(), row->begin(), row->end());
      with_rows.push_back(&mark);
    }
    if (with_rows.empty()) return {};
    // Enough to look past copies of itself; a passage with more copies than that tells nothing.
    constexpr int kNeighbours = 16;
    const auto hits = index_.search(queries, d, kNeighbours, &sealed_, pool_);
    if (!hits) return hits.error();
    for (std::size_t i = 0; i < with_rows.size(); ++i) {
      const auto own = texts_.text_of(with_rows[i]->chunk);
      const std::span<const float> query(queries.data() + i * d, d);
      double nearest = -2;
      for (const DenseHit& hit : (*hits)[i]) {
        if (texts_.text_of(hit.chunk) == own) continue;
        const auto row = index_.row(hit.chunk);
        if (!row) return row.error();
        nearest = std::max(nearest, cosine(query, *row));
      }
      if (nearest < -1.5) continue;
      const auto overlap = best_overlap(*with_rows[i]);
      if (!overlap) return overlap.error();
      out.nearest_cosine.push_back(static_cast<float>(nearest));
      out.best_jaccard.push_back(static_cast<float>(*overlap));
    }
    return {};
  }

 private:
  Result<double> best_overlap(const PassageMark& mark) const {
    constexpr std::size_t kSimilar = 8;
    std::vector<ChunkId> ids{mark.chunk};
    for (const SealedTexts::Index text : texts_.similar(mark, kSimilar)) {
      if (texts_.text_of(mark.chunk) != text) ids.push_back(texts_.chunks(text)[0]);
    }
    if (ids.size() == 1) return 0.0;
    const auto chunks = store_.chunks(tenant_, ids);
    if (!chunks) return chunks.error();
    if (!(*chunks)[0]) return (*chunks)[0].error();
    const ShingleSet own = shingles_of((*chunks)[0]->text, key_);
    double best = 0;
    for (std::size_t i = 1; i < ids.size(); ++i) {
      if ((*chunks)[i]) best = std::max(best, shingle_overlap(own, shingles_of((*chunks)[i]->text, key_)).jaccard);
    }
    return best;
  }

  const Store& store_;
  std::string_view tenant_;
  const SealedTexts& texts_;
  const DenseIndex& index_;
  const ChunkSet& sealed_;
  const ShingleKey& key_;
  const ThreadPool& pool_;
};

Status calibrate(const Store& store, const SealOptions& options, std::span<const PassageMark> marks,
                 const ShingleKey& key, const ThreadPool& pool, Progress& progress, const std::stop_token& stop,
                 SealCalibration& out) {
  constexpr std::size_t kBatch = 32;
  auto snapshot = store.snapshot(options.tenant);
  if (!snapshot) return snapshot.error();
  const auto index = DenseIndex::create(*std::move(snapshot), pool);
  if (!index) return index.error();
  std::vector<ChunkRange> ranges;
  for (const PassageMark& mark : marks) ranges.push_back({mark.chunk, mark.chunk + 1});
  const ChunkSet sealed(std::move(ranges));
  const SealedTexts texts(marks);
  const auto drawn = sample(marks, static_cast<std::size_t>(options.calibration_passages), options.seed);
  Calibrating calibrating(store, options.tenant, texts, **index, sealed, key, pool);
  progress.begin("calibrating", drawn.size(), "passages");
  Status done;
  for (std::size_t first = 0; first < drawn.size() && done; first += kBatch) {
    if (stop.stop_requested()) done = stopped();
    const std::size_t count = std::min(kBatch, drawn.size() - first);
    if (done) done = calibrating.take(std::span(drawn).subspan(first, count), out);
    progress.update(first + count);
  }
  progress.end();
  std::sort(out.nearest_cosine.begin(), out.nearest_cosine.end());
  std::sort(out.best_jaccard.begin(), out.best_jaccard.end());
  return done;
}

}  // namespace

Result<Seal> seal_documents(Store& store, const SigningKey& key, const SealOptions& options, const ThreadPool& pool,
                            Progress& progress, std::stop_token stop) {
  if (options.calibration_passages < 1 || options.calibration_passages > 100'000)
    return Error{ErrorCode::kInvalidOption, "calibration_passages must be in 1 to 100000"};
  const auto last = last_version(store, key, options);
  if (!last) return last.error();
  const auto trusted = trusted_documents(store, options.tenant);
  if (!trusted) return trusted.error();
  if (trusted->empty()) {
    return Error{ErrorCode::kNotFound, "tenant " + UntrustedText(options.tenant).for_log() +
                                           " has no trusted documents (casemate index PATH --store " + store.path() +
                                           " --trusted marks them)"};
  }
  const auto sketch_key = options.repair ? repaired_sketch_key(store, key, options.tenant, pool, stop)
                                         : own_or_new_sketch_key(store, options.tenant, options.replace_foreign);
  if (!sketch_key) return sketch_key.error();
  Seal seal;
  seal.tenant = options.tenant;
  seal.version = *last + 1;
  seal.sealed_at = Clock::system().unix_seconds();
  seal.sketch_key_id = sketch_key_id(*sketch_key);
  seal.public_key = key.public_key();
  const auto ids = passages_of(*trusted);
  progress.begin("reading trusted passages", ids.size(), "passages");
  const auto marks = mark_passages(store, options.tenant, ids, *sketch_key, pool, stop);
  progress.end();
  if (!marks) return marks.error();
  std::size_t at = 0;
  for (const StoredDocument& document : *trusted) {
    const auto count = static_cast<std::size_t>(document.chunk_count);
    const auto own = std::span(*marks).subspan(at, count);
    at += count;
    for (const PassageMark& mark : own) {
      if (mark.readable) continue;
      return Error{ErrorCode::kCorrupt, "passage " + std::to_string(mark.chunk) + " of trusted document " +
                                            UntrustedText(document.id).for_log() +
                                            " cannot be read: index it again, then seal"};
    }
    seal.documents.push_back({document.id, document.content_hash, text_hash_of(own), document.chunk_count});
    seal.passages += document.chunk_count;
  }
  seal.root = root_of(seal.documents);
  if (Status done = calibrate(store, options, *marks, *sketch_key, pool, progress, stop, seal.calibration); !done)
    return done.error();
  if (stop.stop_requested()) return stopped();
  const SealRecord record = write_record(seal, key);
  if (Status set = store.set_setting(options.tenant, list_setting(seal.version), record.list); !set) return set.error();
  if (Status set = store.set_setting(options.tenant, kSealSetting, record.statement); !set) return set.error();
  return seal;
}

Result<std::optional<Seal>> read_seal(const Store& store, std::string_view tenant,
                                      const std::optional<PublicKey>& expected) {
  const auto statement = store.setting(tenant, kSealSetting);
  if (!statement) return statement.error();
  if (!*statement) return std::optional<Seal>();
  const auto list = store.setting(tenant, list_setting_of(**statement));
  if (!list) return list.error();
  auto seal = read_record({**statement, list->value_or("")}, tenant, expected);
  if (!seal) return seal.error().in(store.path() + ", tenant " + UntrustedText(std::string(tenant)).for_log());
  return std::optional<Seal>(*std::move(seal));
}

Result<SealCheck> check_seal(const Store& store, const Seal& seal, const ThreadPool& pool) {
  const auto key = sealed_sketch_key(store, seal);
  if (!key) return key.error();
  auto sealed = match_documents(store, seal, *key, pool, {}, {});
  if (!sealed) return sealed.error();
  return std::move(sealed->check);
}

}  // namespace casemate
