#include "chunk_rows.h"

#include "failure.h"
#include "row_hasher.h"
#include "schema.h"

namespace casemate {
namespace {

// The columns that `read_row` reads, in its order.
constexpr std::string_view kColumns =
    "c.id, c.document, c.ordinal, c.text, c.source_begin, c.source_end, c.page, c.line, c.checksum";

Digest checksum_of(const StoreId& store, const ChunkRow& row) {
  const StoredChunk& chunk = row.chunk;
  return row_hasher(store)
      .add(chunk.id)
      .add(row.document_row)
      .add(chunk.ordinal)
      .add(chunk.text.bytes())
      .add(static_cast<std::int64_t>(chunk.source_begin))
      .add(static_cast<std::int64_t>(chunk.source_end))
      .add(chunk.page)
      .add(chunk.line)
      .finish();
}

ChunkRow read_row(const Statement& statement, const StoreId& store) {
  ChunkRow row;
  row.chunk.id = statement.integer(0);
  row.document_row = statement.integer(1);
  row.chunk.ordinal = static_cast<int>(statement.integer(2));
  row.chunk.text = UntrustedText(statement.bytes(3));
  row.chunk.source_begin = static_cast<std::uint64_t>(statement.integer(4));
  row.chunk.source_end = static_cast<std::uint64_t>(statement.integer(5));
  row.chunk.page = static_cast<int>(statement.integer(6));
  row.chunk.line = static_cast<int>(statement.integer(7));
  const std::string stored = statement.bytes(8);
  const Digest found = checksum_of(store, row);
  row.intact = stored == std::string_view(reinterpret_cast<const char*>(found.data()), found.size());
  return row;
}

/// Takes `text`, which must be what was indexed, out of a contentless full-text table.
void remove_words(Database& database, std::int64_t tenant, const std::vector<ChunkRow>& rows) {
  const std::string table = fts_table(tenant);
  Statement statement(database, "INSERT INTO " + table + "(" + table + ", rowid, text) VALUES('delete', ?1, ?2)");
  for (const ChunkRow& row : rows) statement.bind(1, row.chunk.id).bind_text(2, row.chunk.text.bytes()).run();
}

/// Makes the full-text table anew: the way out where a damaged text can no longer be taken out of it.
void rebuild_fts(Database& database, std::int64_t tenant) {
  const std::string table = fts_table(tenant);
  database.execute("DROP TABLE IF EXISTS " + table);
  create_fts_table(database, tenant);
  Statement statement(database,
                      "INSERT INTO " + table +
                          "(rowid, text) SELECT c.id, CAST(c.text AS TEXT) FROM chunk c JOIN document d ON d.row = "
                          "c.document WHERE d.tenant = ?1 ORDER BY c.id");
  statement.bind(1, tenant).run();
}

}  // namespace

ChunkInserter::ChunkInserter(Database& database, const StoreId& store, std::int64_t tenant)
    : store_(store),
      row_(database,
           "INSERT INTO chunk(id, document, ordinal, text, source_begin, source_end, page, line, checksum)"
           " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
      words_(database, "INSERT INTO " + fts_table(tenant) + "(rowid, text) VALUES(?1, ?2)") {}

void ChunkInserter::insert(ChunkId id, std::int64_t document_row, int ordinal, const NewChunk& chunk) {
  ChunkRow row;
  row.document_row = document_row;
  row.chunk = {id, {}, ordinal, chunk.text, chunk.source_begin, chunk.source_end, chunk.page, chunk.line};
  row_.bind(1, id).bind(2, document_row).bind(3, ordinal).bind_blob(4, chunk.text.bytes());
  row_.bind(5, static_cast<std::int64_t>(chunk.source_begin)).bind(6, static_cast<std::int64_t>(chunk.source_end));
  row_.bind(7, chunk.page).bind(8, chunk.line).bind_digest(9, checksum_of(store_, row)).run();
  words_.bind(1, id).bind_text(2, chunk.text.bytes()).run();
}

void visit_chunks(Database& database, const StoreId& store, ChunkRange range,
                  const std::function<void(const ChunkRow&)>& visit) {
  Statement statement(database,
                      "SELECT " + std::string(kColumns) + " FROM chunk c WHERE c.id >= ?1 AND c.id < ?2 ORDER BY c.id");
  statement.bind(1, range.begin).bind(2, range.end);
  while (statement.step()) visit(read_row(statement, store));
}

ChunkReader::ChunkReader(Database& database, const StoreId& store, std::int64_t tenant)
    : database_(database),
      store_(store),
      tenant_(tenant),
      statement_(database,
                 "SELECT " + std::string(kColumns) +
                     ", d.id FROM chunk c JOIN document d ON d.row = c.document WHERE c.id = ?1 AND d.tenant = ?2") {}

Result<StoredChunk> ChunkReader::read(ChunkId id) {
  statement_.reset();
  statement_.bind(1, id).bind(2, tenant_);
  if (!statement_.step()) return Error{ErrorCode::kNotFound, "chunk " + std::to_string(id) + " does not exist"};
  ChunkRow row = read_row(statement_, store_);
  if (!row.intact) {
    return Error{ErrorCode::kCorrupt, database_.path() + ": the text of chunk " + std::to_string(id) +
                                          " is damaged (its checksum does not match)"};
  }
  row.chunk.document_id = statement_.bytes(9);
  return std::move(row.chunk);
}

void remove_chunks(Database& database, const StoreId& store, std::int64_t tenant, std::int64_t document_row,
                   ChunkRange range) {
  std::vector<ChunkRow> rows;
  bool intact = true;
  visit_chunks(database, store, range, [&](const ChunkRow& row) {
    intact = intact && row.intact && row.document_row == document_row;
    rows.push_back(row);
  });
  // Taking a wrong text out of the index would damage it: then it is made anew without the document's chunks.
  intact = intact && static_cast<std::int64_t>(rows.size()) == range.end - range.begin;
  if (intact) remove_words(database, tenant, rows);
  Statement(database, "DELETE FROM chunk WHERE id >= ?1 AND id < ?2 AND document = ?3")
      .bind(1, range.begin)
      .bind(2, range.end)
      .bind(3, document_row)
      .run();
  if (!intact) rebuild_fts(database, tenant);
}

}  // namespace casemate
