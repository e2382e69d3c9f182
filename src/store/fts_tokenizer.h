#pragma once

#include "sqlite_database.h"

namespace casemate {

/// Name of our tokenizer in `CREATE VIRTUAL TABLE ... tokenize=`.
inline constexpr char kFtsTokenizer[] = "casemate";

/// Registers the FTS5 tokenizer over WordSegmenter. Documents are segmented; a *query* string is taken as one word
/// that was segmented already (`Store::bm25` makes the queries), so that no word can be cut twice.
void register_fts_tokenizer(Database& database);

}  // namespace casemate
