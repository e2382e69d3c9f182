// src/defend/seal_record.h
#pragma once

#include <optional>
#include <string>

#include "casemate/defend/seal.h"
#include "casemate/text/shingles.h"

namespace casemate {

inline constexpr char kSealSetting[] = "seal";
inline constexpr char kSketchKeySetting[] = "sketch_key";

/// The two settings that hold a seal: what is signed with its signature, and the list that it names by hash. Lists take
/// turns in two settings, so that the last seal holds until the next statement is written.
struct SealRecord {
  std::string statement;
  std::string list;
};

[[nodiscard]] std::string list_setting(std::int64_t version);
/// The setting with the list of `statement`, which need not be true.
[[nodiscard]] std::string list_setting_of(std::string_view statement);

[[nodiscard]] SealRecord write_record(const Seal& seal, const SigningKey& key);
/// Error: as `read_seal`.
[[nodiscard]] Result<Seal> read_record(const SealRecord& record, std::string_view tenant,
                                       const std::optional<PublicKey>& expected);

/// Over the documents, each field with its length.
[[nodiscard]] Digest root_of(std::span<const SealedDocument> documents);

/// The tenant's secret for sketches; nothing where it has none yet. Error: Corrupt.
[[nodiscard]] Result<std::optional<ShingleKey>> read_sketch_key(const Store& store, std::string_view tenant);
/// What a seal says of that secret: it names it and does not give it away.
[[nodiscard]] std::string sketch_key_id(const ShingleKey& key);

}  // namespace casemate
