#include "defend/sketch_secret.h"

#include <algorithm>
#include <optional>

#include "casemate/core/signing.h"
#include "defend/sealed_documents.h"

namespace casemate {
namespace {

/// Nothing where the tenant has none yet. Error: Corrupt.
Result<std::optional<ShingleKey>> read_sketch_key(const Store& store, std::string_view tenant) {
  const auto setting = store.setting(tenant, kSketchKeySetting);
  if (!setting) return setting.error();
  if (!*setting) return std::optional<ShingleKey>();
  const auto bytes = from_hex(**setting);
  ShingleKey key{};
  if (!bytes || bytes->size() != key.size())
    return Error{ErrorCode::kCorrupt, store.path() + ": the tenant's secret for sketches is damaged"};
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return std::optional<ShingleKey>(key);
}

ShingleKey new_sketch_key() {
  const std::string bytes = random_bytes(sizeof(ShingleKey));
  ShingleKey key{};
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

Status keep(Store& store, std::string_view tenant, const ShingleKey& key) {
  return store.set_setting(tenant, kSketchKeySetting, to_hex(key));
}

std::string how_to_repair(const Store& store, std::string_view tenant) {
  return " (casemate seal " + store.path() +
         (tenant == "default" ? "" : " --tenant " + UntrustedText(std::string(tenant)).for_log()) +
         " --key KEYFILE --repair makes a new one and seals anew, where all documents are as they were sealed)";
}

/// What keeps the secret from being the sealed one; empty where it is.
std::string fault_of(const Result<std::optional<ShingleKey>>& key, const Seal& seal) {
  if (!key) return "is damaged";
  if (!*key) return "is lost";
  return sketch_key_id(**key) == seal.sketch_key_id ? "" : "is not the sealed one";
}

std::string first_names(const std::vector<std::string>& ids) {
  constexpr std::size_t kNamed = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamed, ids.size()); ++i)
    out += (out.empty() ? "" : ", ") + UntrustedText(ids[i]).for_log();
  return out + (ids.size() > kNamed ? ", ..." : "");
}

}  // namespace

std::string sketch_key_id(const ShingleKey& key) {
  const std::string_view bytes(reinterpret_cast<const char*>(key.data()), key.size());
  const Digest digest = blake2b_keyed("sketch key id", bytes);
  return to_hex(std::span<const std::uint8_t>(digest).first(8));
}

Result<ShingleKey> sealed_sketch_key(const Store& store, const Seal& seal) {
  const auto key = read_sketch_key(store, seal.tenant);
  if (!key && key.error().code != ErrorCode::kCorrupt) return key.error();
  const std::string fault = fault_of(key, seal);
  if (fault.empty()) return **key;
  return Error{ErrorCode::kCorrupt,
               store.path() + ": the tenant's secret for sketches " + fault + how_to_repair(store, seal.tenant)};
}

Result<ShingleKey> own_or_new_sketch_key(Store& store, std::string_view tenant, bool replace) {
  const auto known = read_sketch_key(store, tenant);
  const bool damaged = !known && known.error().code == ErrorCode::kCorrupt;
  if (damaged && !replace) return Error{ErrorCode::kCorrupt, known.error().message + how_to_repair(store, tenant)};
  if (!known && !damaged) return known.error();
  if (known && *known) return **known;
  const ShingleKey key = new_sketch_key();
  if (Status kept = keep(store, tenant, key); !kept) return kept.error();
  return key;
}

Result<ShingleKey> repaired_sketch_key(Store& store, const SigningKey& owner, std::string_view tenant,
                                       const ThreadPool& pool, const std::stop_token& stop) {
  const auto seal = read_seal(store, tenant, owner.public_key());
  if (!seal) return seal.error();
  if (!*seal) {
    return Error{ErrorCode::kNotFound,
                 store.path() + ": tenant " + UntrustedText(std::string(tenant)).for_log() + " has no seal to repair"};
  }
  const auto known = read_sketch_key(store, tenant);
  if (!known && known.error().code != ErrorCode::kCorrupt) return known.error();
  if (fault_of(known, **seal).empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 store.path() + ": the tenant's secret for sketches is the sealed one: there is nothing to repair"};
  }
  const ShingleKey key = new_sketch_key();
  // Hashes of texts do not depend on the secret. What was changed since must be sealed knowingly, not by a repair.
  const auto matched = match_documents(store, **seal, key, pool, {}, stop);
  if (!matched) return matched.error();
  if (!matched->check.holds()) {
    std::vector<std::string> names = matched->check.changed;
    names.insert(names.end(), matched->check.missing.begin(), matched->check.missing.end());
    names.insert(names.end(), matched->check.unsealed.begin(), matched->check.unsealed.end());
    return Error{ErrorCode::kMismatch,
                 std::to_string(names.size()) + " documents are not as they were sealed (" + first_names(names) +
                     "): look at them, and seal them as they are now with casemate seal --key KEYFILE --force"};
  }
  if (Status kept = keep(store, tenant, key); !kept) return kept.error();
  return key;
}

}  // namespace casemate
