#pragma once

#include <cstdint>

#include "casemate/store/encoder_identity.h"
#include "segment_file.h"
#include "sqlite_database.h"

namespace casemate {

/// What the table `meta` holds. The counters only grow: a chunk id or segment id is never used again.
struct StoreMeta {
  StoreId store{};
  EncoderIdentity encoder;
  Digest encoder_hash{};
  std::int64_t generation = 0;  ///< number of commits
  std::int64_t next_chunk = 1;
  std::int64_t next_segment = 1;
};

/// Makes all tables in an empty database and commits. Throws Failure.
void create_schema(Database& database, const StoreId& store, const EncoderIdentity& encoder);
/// The format version of a store. Throws Corrupt where `database` is no store.
[[nodiscard]] int stored_format_version(Database& database);
/// Throws Mismatch for a version that is not the current one, saying what to do.
void require_current_format(Database& database);
/// Throws Corrupt where a value is missing or damaged.
[[nodiscard]] StoreMeta read_meta(Database& database);
[[nodiscard]] std::int64_t read_counter(Database& database, std::string_view key);
void write_counter(Database& database, std::string_view key, std::int64_t value);
/// Brings a store of format `from` to the current one, in one transaction. Throws Failure.
void migrate_schema(Database& database, int from);

/// The full-text table of one tenant, "fts_7". Its name holds a number only, never a caller's text.
[[nodiscard]] std::string fts_table(std::int64_t tenant);
void create_fts_table(Database& database, std::int64_t tenant);

}  // namespace casemate
