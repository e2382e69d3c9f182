// casemate/store/document.h
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {

/// Names one chunk of one store for ever: ids grow and are never used again.
using ChunkId = std::int64_t;

/// The kind of the vectors that every chunk has: one embedding of the whole passage.
inline constexpr char kPassageVectors[] = "passage";

/// A piece of a document as the chunker made it.
struct NewChunk {
  UntrustedText text;              ///< at most 16 MiB
  std::uint64_t source_begin = 0;  ///< bytes [begin, end) of the document's source text
  std::uint64_t source_end = 0;
  int page = 0;  ///< from 1; 0 where the format has no pages
  int line = 0;  ///< from 1; 0 where unknown
};

/// Further vectors of a document's chunks, for instance the embeddings of its fragments.
struct ExtraVectors {
  std::string kind;         ///< 1 to 31 bytes of [a-z0-9_.-], not "passage"
  int rows_per_chunk = 1;   ///< in [1, 1024]
  int dimension = 0;        ///< in [1, 65536]
  std::vector<float> rows;  ///< [chunks * rows_per_chunk, dimension] row-major, finite
};

/// A document to add. `(tenant, id)` names it.
struct NewDocument {
  std::string tenant;  ///< 1 to 128 bytes of UTF-8 without control characters
  std::string id;      ///< 1 to 2048 bytes of UTF-8 without control characters
  UntrustedText title;
  std::string source_path;       ///< where it came from; informative
  std::string format;            ///< "markdown", "pdf", ...
  Digest content_hash{};         ///< of the source as the caller defines it; equal hashes mean equal content
  std::set<std::string> labels;  ///< at most 64 of 1 to 256 bytes
  bool trusted = false;          ///< part of the owner's sealed set
  std::string metadata_json = "{}";
  std::string findings_json = "[]";  ///< what the ingest screening found
  std::vector<NewChunk> chunks;      ///< none is allowed: the document is remembered and never found
  std::vector<float> embeddings;     ///< [chunks, d] row-major, d as the store's encoder, finite
  std::vector<ExtraVectors> extra_vectors;
};

/// Where the document `id` comes from.
struct DocumentSource {
  std::string id;
  std::string path;
};

/// A document of the store, without its chunks.
struct StoredDocument {
  std::string tenant;
  std::string id;
  UntrustedText title;
  std::string source_path;
  std::string format;
  Digest content_hash{};
  std::set<std::string> labels;
  bool trusted = false;
  std::string metadata_json;
  std::string findings_json;
  std::int64_t ingested_at = 0;  ///< seconds since 1970 UTC
  ChunkId first_chunk = 0;       ///< its chunks are first_chunk, first_chunk + 1, ...
  std::int64_t chunk_count = 0;
};

/// A chunk of the store.
struct StoredChunk {
  ChunkId id = 0;
  std::string document_id;
  int ordinal = 0;  ///< from 0 within its document
  UntrustedText text;
  std::uint64_t source_begin = 0;
  std::uint64_t source_end = 0;
  int page = 0;
  int line = 0;
};

/// Which documents a caller may see or wants. All conditions must hold; the default lets everything through.
struct DocumentFilter {
  /// The document has at least one of these. An empty list lets nothing through (a user without rights sees
  /// nothing); leave it unset for no condition.
  std::optional<std::vector<std::string>> any_of;
  std::vector<std::string> all_of;   ///< the document has every one of these
  std::vector<std::string> none_of;  ///< the document has none of these
  std::optional<bool> trusted;       ///< the document's flag; unset: no condition

  [[nodiscard]] bool lets_everything_through() const {
    return !any_of && all_of.empty() && none_of.empty() && !trusted;
  }
};

enum class AddOutcome : std::uint8_t {
  kAdded,
  kUnchanged,  ///< the same content and attributes were there already
  kReplaced,   ///< other content or attributes were there; the old chunks are gone
  kRefused,    ///< the document itself is not acceptable: see `error`; the rest of the batch went on
};

/// What became of one document of a batch.
struct AddResult {
  AddOutcome outcome = AddOutcome::kAdded;
  std::optional<Error> error;  ///< set exactly where refused; names the document
};

}  // namespace casemate
