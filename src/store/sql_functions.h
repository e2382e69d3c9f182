#pragma once

#include "sqlite_database.h"

namespace casemate {

/// Pointer type of a `const ChunkSet*` bound to a statement.
inline constexpr char kChunkSetPointer[] = "casemate-chunk-set";

/// Adds `casemate_allowed(chunk_id, set)`: 1 where the bound ChunkSet contains the id.
void register_sql_functions(Database& database);

}  // namespace casemate
