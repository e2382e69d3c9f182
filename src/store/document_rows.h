#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "casemate/store/document.h"
#include "segment_file.h"
#include "sqlite_database.h"

namespace casemate {

// Rows of tenants and documents. Everything throws Failure; reading verifies checksums.

struct TenantRow {
  std::int64_t id = 0;
  std::string name;
};

struct DocumentRow {
  std::int64_t row = 0;
  std::int64_t tenant = 0;
  Digest attributes_hash{};
  StoredDocument document;
};

/// 0 where there is none.
[[nodiscard]] std::int64_t find_tenant(Database& database, std::string_view name);
/// Makes the tenant and its full-text table where there is none.
[[nodiscard]] std::int64_t find_or_add_tenant(Database& database, std::string_view name);
[[nodiscard]] std::vector<TenantRow> list_tenants(Database& database);  ///< in order of name

/// Hash of what a document has besides content and vectors, so that a changed label is a change.
[[nodiscard]] Digest attributes_hash(const NewDocument& document);

[[nodiscard]] std::optional<DocumentRow> find_document(Database& database, const StoreId& store,
                                                       const TenantRow& tenant, std::string_view id);
/// At most `limit` in order of id after `after_id`.
[[nodiscard]] std::vector<DocumentRow> list_documents(Database& database, const StoreId& store, const TenantRow& tenant,
                                                      std::string_view after_id, int limit);

/// Inserts the document, its labels, its chunks (ids from `first_chunk`) and their full-text entries.
void insert_document(Database& database, const StoreId& store, const TenantRow& tenant, const NewDocument& document,
                     ChunkId first_chunk, std::int64_t ingested_at);
/// Writes the row's source, and its new checksum.
void update_source(Database& database, const StoreId& store, const DocumentRow& row);
/// Deletes all of that, with what the cache holds of it, and leaves a tombstone for the vectors.
void remove_document(Database& database, const StoreId& store, const DocumentRow& row);

}  // namespace casemate
