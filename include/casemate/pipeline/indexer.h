// casemate/pipeline/indexer.h
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/defend/scan_defence.h"
#include "casemate/encoder/encoder.h"
#include "casemate/formats/reader.h"
#include "casemate/store/store.h"
#include "casemate/text/chunker.h"

namespace casemate {

struct IndexOptions {
  std::string tenant = "default";
  std::set<std::string> labels;  ///< put on every document of this run
  bool trusted = false;          ///< they are the owner's: `casemate seal` covers them
  ReadOptions reading;
  ChunkerOptions chunking;  ///< data-set passages stay one chunk whatever `one_passage` says
  bool strict = false;      ///< the first problem ends the run (what was finished stays stored) instead of being listed
  /// Vectors that defences need beside the passage's own, made with each document. Not owned.
  std::vector<const VectorRecipe*> recipes{};
  int batch_chunks = 256;  ///< chunks embedded and committed together: a kill loses at most this; in [1, 65536]
};

/// What a run did. Every document read is in exactly one of added, unchanged, replaced, refused.
struct IndexSummary {
  ReadSummary reading;
  std::uint64_t added = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t replaced = 0;
  std::uint64_t refused = 0;
  std::uint64_t chunks = 0;              ///< embedded in this run
  std::uint64_t repeated_fragments = 0;  ///< passages too short for that many distinct fragments, over all recipes
  std::uint64_t truncated_chunks = 0;    ///< longer than the encoder's limit: their ends are stored but not embedded
  std::map<std::string, std::uint64_t> findings;  ///< by kind: what clean-up kept out of passages
  std::vector<std::string> problems;              ///< what could not be read or stored; safe to print
  std::uint64_t problems_left_out = 0;            ///< beyond the first 10,000
};

/// The store's identity for this encoder and chunking. Error: InvalidOption where a chunk could be longer than the
/// encoder's limit allows.
[[nodiscard]] Result<EncoderIdentity> store_identity(const Encoder& encoder, const ChunkerOptions& chunking);

/// Reads `paths`, cuts, embeds and stores what is new or changed; what is there already is skipped before embedding.
/// Each batch is durable when it is counted. Running it again after a kill or a stop completes the work.
/// Problems of single documents are in the summary and told to `progress` as notes; they do not end the run.
/// Error: what store, encoder or reader say; Cancelled where `stop` asked (what was finished is stored).
[[nodiscard]] Result<IndexSummary> index_paths(std::span<const std::string> paths, const IndexOptions& options,
                                               Store& store, const Encoder& encoder, Progress& progress,
                                               std::stop_token stop);

/// A document that the caller holds, from an upload for instance.
struct SuppliedDocument {
  std::string id;
  UntrustedText title;
  UntrustedText text;  ///< plain text; it is cleaned as a file's is
  std::map<std::string, std::string> metadata;
};

/// As `index_paths`, for documents in memory. `origin` is recorded as where they come from. Progress counts documents.
[[nodiscard]] Result<IndexSummary> index_documents(std::span<const SuppliedDocument> documents,
                                                   const std::string& origin, const IndexOptions& options, Store& store,
                                                   const Encoder& encoder, Progress& progress, std::stop_token stop);

}  // namespace casemate
