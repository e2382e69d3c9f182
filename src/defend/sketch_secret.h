// src/defend/sketch_secret.h
#pragma once

#include <stop_token>
#include <string>

#include "casemate/defend/seal.h"
#include "casemate/text/shingles.h"

namespace casemate {

// A tenant's secret for sketches: under it shingles are hashed, so that nobody without it can make texts whose sketches
// collide. The store keeps it, and the seal names it by an id, so that another one in its place is seen.

inline constexpr char kSketchKeySetting[] = "sketch_key";

/// What a seal says of the secret: it names it and does not give it away.
[[nodiscard]] std::string sketch_key_id(const ShingleKey& key);

/// The secret that was sealed. Error: Corrupt where it is lost, damaged or another one, saying which and how to repair
/// it.
[[nodiscard]] Result<ShingleKey> sealed_sketch_key(const Store& store, const Seal& seal);

/// The secret of the tenant, made where it has none, and with `replace` also where it is damaged. Error: Corrupt.
[[nodiscard]] Result<ShingleKey> own_or_new_sketch_key(Store& store, std::string_view tenant, bool replace);

/// A new secret in place of a lost, damaged or wrong one, where the owner's seal is there and still holds.
/// Error: as `seal_documents` with `repair`.
[[nodiscard]] Result<ShingleKey> repaired_sketch_key(Store& store, const SigningKey& owner, std::string_view tenant,
                                                     const ThreadPool& pool, const std::stop_token& stop);

}  // namespace casemate
