// casemate/defend/seal.h
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/progress.h"
#include "casemate/core/signing.h"
#include "casemate/core/status.h"
#include "casemate/core/thread_pool.h"
#include "casemate/store/store.h"

namespace casemate {

/// A document as its owner sealed it.
struct SealedDocument {
  std::string id;
  Digest content_hash{};
  Digest text_hash{};  ///< of its passages' comparison texts, in order
  std::int64_t passages = 0;
};

/// How near the sealed passages lie to each other: for each one of a sample, its nearest other sealed passage with
/// another text. Ascending.
struct SealCalibration {
  std::vector<float> nearest_cosine;
  std::vector<float> best_jaccard;  ///< of shingle sets; 0 where no other passage shares any
};

/// What an owner signed: which documents of a tenant are trusted, and what they say (docs/format.md). Kept in the
/// store, one a tenant, with a version that grows by one.
struct Seal {
  std::string tenant;
  std::int64_t version = 1;
  std::int64_t sealed_at = 0;  ///< seconds since 1970 UTC
  Digest root{};               ///< over the documents in order of their ids
  std::int64_t passages = 0;
  std::string sketch_key_id;  ///< of the tenant's secret for sketches
  PublicKey public_key{};
  std::vector<SealedDocument> documents;  ///< in order of their ids
  SealCalibration calibration;
};

struct SealOptions {
  std::string tenant = "default";
  int calibration_passages = 2000;  ///< how many passages the calibration looks at, drawn at random; in [1, 100000]
  bool replace_foreign = false;     ///< also replace a seal that another key made, or one that is damaged
  std::uint64_t seed = 0;           ///< of that draw
  /// Makes the tenant's secret for sketches anew where it is lost, damaged or not the sealed one, and seals what was
  /// sealed: only where every sealed document is as it was, and none became trusted since.
  bool repair = false;
};

/// Seals the tenant's trusted documents as they are now. Error: NotFound where none is trusted; InvalidOption;
/// Permission for a seal of another key, and Corrupt for a damaged one, unless they may be replaced; Corrupt where a
/// passage cannot be read, or the secret for sketches is damaged and is not to be repaired or replaced; Mismatch,
/// naming documents, where a repair would seal something else than before; NotFound and InvalidArgument where there is
/// no seal to repair, or nothing to repair; what the store says; Cancelled.
[[nodiscard]] Result<Seal> seal_documents(Store& store, const SigningKey& key, const SealOptions& options,
                                          const ThreadPool& pool, Progress& progress, std::stop_token stop);

/// The seal of `tenant`; nothing where there is none. `expected` (unset: any): whose it must be.
/// Error: Corrupt where any byte of it changed since it was signed; Mismatch for a seal of another key, or one of a
/// format that this version does not know.
[[nodiscard]] Result<std::optional<Seal>> read_seal(const Store& store, std::string_view tenant,
                                                    const std::optional<PublicKey>& expected = std::nullopt);

/// How a store differs from its seal. All in order of ids.
struct SealCheck {
  std::vector<std::string> changed;   ///< sealed, but the store has another content, or it is not trusted any more
  std::vector<std::string> missing;   ///< sealed, but not in the store
  std::vector<std::string> unsealed;  ///< trusted, but not in the seal
  [[nodiscard]] bool holds() const { return changed.empty() && missing.empty() && unsealed.empty(); }
};

/// Reads the text of every sealed document again. Error: what the store says; Corrupt where the tenant's secret for
/// sketches is lost, damaged or not the sealed one: `SealOptions::repair`.
[[nodiscard]] Result<SealCheck> check_seal(const Store& store, const Seal& seal, const ThreadPool& pool);

}  // namespace casemate
