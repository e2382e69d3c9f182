// src/defend/seal_record.h
#pragma once

#include <optional>
#include <string>

#include "casemate/defend/seal.h"

namespace casemate {

inline constexpr char kSealSetting[] = "seal";

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

}  // namespace casemate
