// src/defend/sealed_documents.h
#pragma once

#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "casemate/defend/seal.h"
#include "defend/passage_marks.h"

namespace casemate {

/// Documents with the trusted flag, in order of their ids.
[[nodiscard]] Result<std::vector<StoredDocument>> trusted_documents(const Store& store, std::string_view tenant);
/// Their passages, document by document.
[[nodiscard]] std::vector<ChunkId> passages_of(std::span<const StoredDocument> documents);
/// Over the text hashes of a document's passages, in order.
[[nodiscard]] Digest text_hash_of(std::span<const PassageMark> passages);

/// What of a seal holds in the store.
struct MatchedDocuments {
  std::vector<PassageMark> marks;  ///< passages of sealed documents that are as they were sealed; by chunk
  SealCheck check;
};

/// Compares every sealed document with the store's. Texts are read but for passages in `known`, which are taken over:
/// what an id names never changes. Error: what the store says; Cancelled.
[[nodiscard]] Result<MatchedDocuments> match_documents(const Store& store, const Seal& seal, const ShingleKey& key,
                                                       const ThreadPool& pool, std::span<const PassageMark> known,
                                                       std::stop_token stop);

}  // namespace casemate
