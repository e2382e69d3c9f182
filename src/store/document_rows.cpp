#include "document_rows.h"

#include <sqlite3.h>

#include <limits>

#include "chunk_rows.h"
#include "failure.h"
#include "row_hasher.h"
#include "schema.h"

namespace casemate {
namespace {

constexpr std::string_view kSelect =
    "SELECT row, id, title, source, format, content_hash, attributes_hash, trusted, metadata, findings, ingested_at,"
    " first_chunk, chunk_count, checksum FROM document ";

Digest checksum_of(const StoreId& store, const DocumentRow& row) {
  const StoredDocument& document = row.document;
  FieldHasher hasher = row_hasher(store);
  hasher.add(row.row).add(document.tenant).add(document.id).add(document.title.bytes()).add(document.source_path);
  hasher.add(document.format).add(document.content_hash).add(row.attributes_hash).add(document.trusted ? 1 : 0);
  hasher.add(document.metadata_json).add(document.findings_json).add(document.ingested_at);
  hasher.add(document.first_chunk).add(document.chunk_count);
  for (const std::string& label : document.labels) hasher.add(label);
  return hasher.finish();
}

std::set<std::string> read_labels(Database& database, std::int64_t row) {
  Statement statement(database, "SELECT label FROM label WHERE document = ?1");
  statement.bind(1, row);
  std::set<std::string> labels;
  while (statement.step()) labels.insert(statement.bytes(0));
  return labels;
}

DocumentRow read_row(Database& database, const Statement& statement, const StoreId& store, const TenantRow& tenant) {
  DocumentRow row;
  StoredDocument& document = row.document;
  row.row = statement.integer(0);
  row.tenant = tenant.id;
  document.tenant = tenant.name;
  document.id = statement.bytes(1);
  document.title = UntrustedText(statement.bytes(2));
  document.source_path = statement.bytes(3);
  document.format = statement.bytes(4);
  document.content_hash = statement.digest(5);
  row.attributes_hash = statement.digest(6);
  document.trusted = statement.integer(7) != 0;
  document.metadata_json = statement.bytes(8);
  document.findings_json = statement.bytes(9);
  document.ingested_at = statement.integer(10);
  document.first_chunk = statement.integer(11);
  document.chunk_count = statement.integer(12);
  document.labels = read_labels(database, row.row);
  if (statement.digest(13) != checksum_of(store, row)) {
    throw Failure{Error{ErrorCode::kCorrupt, database.path() + ": the row of document \"" +
                                                 UntrustedText(document.id).for_log() +
                                                 "\" is damaged (its checksum does not match): restore a backup"}};
  }
  return row;
}

void drop_unused_cache(Database& database, const DocumentRow& row) {
  Statement(database,
            "DELETE FROM cache WHERE tenant = ?1 AND content_hash = ?2"
            " AND NOT EXISTS(SELECT 1 FROM document WHERE tenant = ?1 AND content_hash = ?2)")
      .bind(1, row.tenant)
      .bind_digest(2, row.document.content_hash)
      .run();
}

}  // namespace

std::int64_t find_tenant(Database& database, std::string_view name) {
  Statement statement(database, "SELECT id FROM tenant WHERE name = ?1");
  statement.bind_text(1, name);
  return statement.step() ? statement.integer(0) : 0;
}

std::int64_t find_or_add_tenant(Database& database, std::string_view name) {
  if (const std::int64_t found = find_tenant(database, name); found != 0) return found;
  Statement(database, "INSERT INTO tenant(name) VALUES(?1)").bind_text(1, name).run();
  const std::int64_t id = sqlite3_last_insert_rowid(database.handle());
  create_fts_table(database, id);
  return id;
}

std::vector<TenantRow> list_tenants(Database& database) {
  Statement statement(database, "SELECT id, name FROM tenant ORDER BY name");
  std::vector<TenantRow> rows;
  while (statement.step()) rows.push_back({statement.integer(0), statement.bytes(1)});
  return rows;
}

Digest attributes_hash(const NewDocument& document) {
  FieldHasher hasher = row_hasher(StoreId{});
  hasher.add(document.title.bytes()).add(document.source_path).add(document.format).add(document.trusted ? 1 : 0);
  hasher.add(document.metadata_json).add(document.findings_json).add(static_cast<std::int64_t>(document.chunks.size()));
  hasher.add(static_cast<std::int64_t>(document.labels.size()));
  for (const std::string& label : document.labels) hasher.add(label);
  for (const ExtraVectors& extra : document.extra_vectors)
    hasher.add(extra.kind).add(extra.rows_per_chunk).add(extra.dimension);
  return hasher.finish();
}

std::optional<DocumentRow> find_document(Database& database, const StoreId& store, const TenantRow& tenant,
                                         std::string_view id) {
  Statement statement(database, std::string(kSelect) + "WHERE tenant = ?1 AND id = ?2");
  statement.bind(1, tenant.id).bind_text(2, id);
  if (!statement.step()) return std::nullopt;
  return read_row(database, statement, store, tenant);
}

std::vector<DocumentRow> list_documents(Database& database, const StoreId& store, const TenantRow& tenant,
                                        std::string_view after_id, int limit) {
  Statement statement(database, std::string(kSelect) + "WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
  statement.bind(1, tenant.id).bind_text(2, after_id).bind(3, limit);
  std::vector<DocumentRow> rows;
  while (statement.step()) rows.push_back(read_row(database, statement, store, tenant));
  return rows;
}

void insert_document(Database& database, const StoreId& store, const TenantRow& tenant, const NewDocument& document,
                     ChunkId first_chunk, std::int64_t ingested_at) {
  DocumentRow row;
  row.tenant = tenant.id;
  row.attributes_hash = attributes_hash(document);
  row.document = {tenant.name,
                  document.id,
                  document.title,
                  document.source_path,
                  document.format,
                  document.content_hash,
                  document.labels,
                  document.trusted,
                  document.metadata_json,
                  document.findings_json,
                  ingested_at,
                  first_chunk,
                  static_cast<std::int64_t>(document.chunks.size())};
  // The row's number is part of its checksum, so it is chosen here; AUTOINCREMENT keeps it from being used again.
  Statement last(database,
                 "SELECT max((SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'document'),"
                 " (SELECT coalesce(max(row), 0) FROM document))");
  row.row = (last.step() ? last.integer(0) : 0) + 1;
  Statement insert(
      database,
      "INSERT INTO document(row, tenant, id, title, source, format, content_hash, attributes_hash, trusted, metadata,"
      " findings, ingested_at, first_chunk, chunk_count, checksum)"
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)");
  insert.bind(1, row.row).bind(2, row.tenant).bind_text(3, document.id).bind_blob(4, document.title.bytes());
  insert.bind_blob(5, document.source_path).bind_blob(6, document.format).bind_digest(7, document.content_hash);
  insert.bind_digest(8, row.attributes_hash).bind(9, document.trusted ? 1 : 0).bind_blob(10, document.metadata_json);
  insert.bind_blob(11, document.findings_json).bind(12, ingested_at).bind(13, first_chunk);
  insert.bind(14, row.document.chunk_count).bind_digest(15, checksum_of(store, row)).run();
  Statement label(database, "INSERT INTO label(document, label) VALUES(?1, ?2)");
  for (const std::string& name : document.labels) label.bind(1, row.row).bind_text(2, name).run();
  ChunkInserter chunks(database, store, row.tenant);
  int ordinal = 0;
  for (const NewChunk& chunk : document.chunks) {
    chunks.insert(first_chunk + ordinal, row.row, ordinal, chunk);
    ++ordinal;
  }
}

void update_source(Database& database, const StoreId& store, const DocumentRow& row) {
  // The hash of attributes stays that of the document as it was added: it only tells whether to add it again.
  Statement(database, "UPDATE document SET source = ?2, checksum = ?3 WHERE row = ?1")
      .bind(1, row.row)
      .bind_blob(2, row.document.source_path)
      .bind_digest(3, checksum_of(store, row))
      .run();
}

void remove_document(Database& database, const StoreId& store, const DocumentRow& row) {
  const StoredDocument& document = row.document;
  if (document.chunk_count > 0) {
    remove_chunks(database, store, row.tenant, row.row,
                  {document.first_chunk, document.first_chunk + document.chunk_count});
    Statement(database, "INSERT INTO tombstone(first_chunk, tenant, chunk_count) VALUES(?1, ?2, ?3)")
        .bind(1, document.first_chunk)
        .bind(2, row.tenant)
        .bind(3, document.chunk_count)
        .run();
  }
  Statement(database, "DELETE FROM label WHERE document = ?1").bind(1, row.row).run();
  Statement(database, "DELETE FROM document WHERE row = ?1").bind(1, row.row).run();
  drop_unused_cache(database, row);
}

}  // namespace casemate
