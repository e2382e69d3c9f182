#pragma once

#include <functional>
#include <memory>

#include "casemate/store/vector_snapshot.h"
#include "segment_file.h"
#include "sqlite_database.h"
#include "sqlite_statement.h"

namespace casemate {

/// A chunk as it lies in the table (without the document's id), and whether its checksum holds.
struct ChunkRow {
  StoredChunk chunk;
  std::int64_t document_row = 0;
  bool intact = false;
};

/// Inserts chunks of one tenant with their full-text entries. Throws Failure.
class ChunkInserter {
 public:
  ChunkInserter(Database& database, const StoreId& store, std::int64_t tenant);
  void insert(ChunkId id, std::int64_t document_row, int ordinal, const NewChunk& chunk);

 private:
  StoreId store_;
  Statement row_;
  Statement words_;
};

/// Visits the chunks with ids in `range`, of any document, in order of id. Throws Failure.
void visit_chunks(Database& database, const StoreId& store, ChunkRange range,
                  const std::function<void(const ChunkRow&)>& visit);

/// Reads chunks of one tenant by id. Throws Failure for errors of the database as a whole.
class ChunkReader {
 public:
  ChunkReader(Database& database, const StoreId& store, std::int64_t tenant);
  /// Error: NotFound, also for chunks of other tenants; Corrupt.
  [[nodiscard]] Result<StoredChunk> read(ChunkId id);

 private:
  Database& database_;
  StoreId store_;
  std::int64_t tenant_;
  Statement statement_;
};

/// Deletes the rows and full-text entries of one document's chunks. Throws Failure.
void remove_chunks(Database& database, const StoreId& store, std::int64_t tenant, std::int64_t document_row,
                   ChunkRange range);

}  // namespace casemate
