#include "defend/sealed_set.h"

#include <algorithm>

#include "defend/seal_record.h"
#include "defend/sealed_documents.h"
#include "defend/sketch_secret.h"

namespace casemate {

std::optional<double> SealedSet::p_value(double cosine) const {
  const std::vector<float>& values = seal.calibration.nearest_cosine;
  if (values.empty()) return std::nullopt;
  const auto above = std::upper_bound(values.begin(), values.end(), static_cast<float>(cosine));
  return static_cast<double>(1 + (above - values.begin())) / static_cast<double>(1 + values.size());
}

Result<std::shared_ptr<const SealedSet>> SealedSets::load(const std::string& tenant,
                                                          std::shared_ptr<const VectorSnapshot> snapshot,
                                                          const SealedSet* previous, std::stop_token stop) const {
  auto seal = read_seal(store_, tenant, expected_);
  if (!seal) return seal.error();
  if (!*seal) {
    return Error{ErrorCode::kInvalidArgument, "tenant " + UntrustedText(tenant).for_log() +
                                                  " has no sealed documents (casemate seal " + store_.path() +
                                                  " --tenant TENANT --key KEYFILE seals its trusted ones)"};
  }
  auto set = std::make_shared<SealedSet>();
  set->seal = *std::move(*seal);
  const auto key = sealed_sketch_key(store_, set->seal);
  if (!key) return key.error();
  set->key = *key;
  const bool same_key = previous != nullptr && previous->key == set->key;
  auto matched =
      match_documents(store_, set->seal, set->key, pool_,
                      same_key ? std::span<const PassageMark>(previous->marks) : std::span<const PassageMark>(), stop);
  if (!matched) return matched.error();
  set->marks = std::move(matched->marks);
  set->check = std::move(matched->check);
  set->texts = SealedTexts(set->marks);
  std::vector<ChunkRange> ranges;
  for (const PassageMark& mark : set->marks) ranges.push_back({mark.chunk, mark.chunk + 1});
  set->chunks = ChunkSet(std::move(ranges));
  auto index = DenseIndex::create(std::move(snapshot), pool_, DenseScan::kInt8,
                                  previous != nullptr ? previous->index.get() : nullptr);
  if (!index) return index.error();
  set->index = *std::move(index);
  return std::shared_ptr<const SealedSet>(std::move(set));
}

Result<std::shared_ptr<const SealedSet>> SealedSets::get(const std::string& tenant, std::stop_token stop) {
  auto snapshot = store_.snapshot(tenant);
  if (!snapshot) return snapshot.error();
  auto statement = store_.setting(tenant, kSealSetting);
  if (!statement) return statement.error();
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(tenant);
  const bool known = it != entries_.end();
  if (known && *statement && it->second.statement == **statement &&
      it->second.set->index->snapshot().generation() == (*snapshot)->generation())
    return it->second.set;
  auto set = load(tenant, *std::move(snapshot), known ? it->second.set.get() : nullptr, std::move(stop));
  if (!set) return set.error();
  entries_.insert_or_assign(tenant, Entry{statement->value_or(""), *set});
  return set;
}

ChunkSet intersection(const ChunkSet& a, const ChunkSet& b) {
  std::vector<ChunkRange> out;
  auto x = a.ranges().begin();
  auto y = b.ranges().begin();
  while (x != a.ranges().end() && y != b.ranges().end()) {
    const ChunkRange both{std::max(x->begin, y->begin), std::min(x->end, y->end)};
    if (both.begin < both.end) out.push_back(both);
    (x->end < y->end ? x : y)++;
  }
  return ChunkSet(std::move(out));
}

}  // namespace casemate
