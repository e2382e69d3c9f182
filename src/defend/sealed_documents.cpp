#include "defend/sealed_documents.h"

#include <algorithm>

#include "defend/seal_record.h"

namespace casemate {
namespace {

constexpr int kPage = 1000;

/// Calls `visit(document)` for each document in order of ids.
template <class Visit>
Status each_document(const Store& store, std::string_view tenant, const Visit& visit) {
  std::string after;
  for (;;) {
    auto page = store.documents(tenant, after, kPage);
    if (!page) return page.error();
    for (StoredDocument& document : *page) visit(document);
    if (page->size() < static_cast<std::size_t>(kPage)) return {};
    after = page->back().id;
  }
}

const PassageMark* find_mark(std::span<const PassageMark> marks, ChunkId chunk) {
  const auto found = std::lower_bound(marks.begin(), marks.end(), chunk,
                                      [](const PassageMark& mark, ChunkId id) { return mark.chunk < id; });
  return found != marks.end() && found->chunk == chunk ? &*found : nullptr;
}

}  // namespace

Result<std::vector<StoredDocument>> trusted_documents(const Store& store, std::string_view tenant) {
  std::vector<StoredDocument> out;
  const Status read = each_document(store, tenant, [&](const StoredDocument& document) {
    if (document.trusted) out.push_back(document);
  });
  if (!read) return read.error();
  return out;
}

std::vector<ChunkId> passages_of(std::span<const StoredDocument> documents) {
  std::vector<ChunkId> ids;
  for (const StoredDocument& document : documents) {
    for (std::int64_t i = 0; i < document.chunk_count; ++i) ids.push_back(document.first_chunk + i);
  }
  return ids;
}

Digest text_hash_of(std::span<const PassageMark> passages) {
  Hasher hasher(Hasher::Kind::kBlake2b);
  for (const PassageMark& mark : passages)
    hasher.update(std::string_view(reinterpret_cast<const char*>(mark.text.data()), mark.text.size()));
  return hasher.finish();
}

Result<MatchedDocuments> match_documents(const Store& store, const Seal& seal, const ShingleKey& key,
                                         const ThreadPool& pool, std::span<const PassageMark> known,
                                         std::stop_token stop) {
  MatchedDocuments out;
  std::vector<StoredDocument> candidates;  // the same by what the store says of them
  std::vector<const SealedDocument*> sealed_as;
  auto next = seal.documents.begin();
  const Status read = each_document(store, seal.tenant, [&](const StoredDocument& document) {
    for (; next != seal.documents.end() && next->id < document.id; ++next) out.check.missing.push_back(next->id);
    const bool sealed = next != seal.documents.end() && next->id == document.id;
    if (!sealed && document.trusted) out.check.unsealed.push_back(document.id);
    if (!sealed) return;
    if (document.trusted && document.content_hash == next->content_hash && document.chunk_count == next->passages) {
      candidates.push_back(document);
      sealed_as.push_back(&*next);
    } else {
      out.check.changed.push_back(document.id);
    }
    ++next;
  });
  if (!read) return read.error();
  for (; next != seal.documents.end(); ++next) out.check.missing.push_back(next->id);
  // The record may lie about the text: the text itself is compared.
  const auto ids = passages_of(candidates);
  std::vector<ChunkId> unknown;
  for (const ChunkId id : ids) {
    if (find_mark(known, id) == nullptr) unknown.push_back(id);
  }
  const auto fresh = mark_passages(store, seal.tenant, unknown, key, pool, std::move(stop));
  if (!fresh) return fresh.error();
  std::vector<PassageMark> marks;
  auto from = fresh->begin();
  for (const ChunkId id : ids) {
    const PassageMark* mark = find_mark(known, id);
    marks.push_back(mark != nullptr ? *mark : *from++);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto own = std::span(marks).subspan(at, static_cast<std::size_t>(candidates[i].chunk_count));
    at += own.size();
    const bool readable = std::all_of(own.begin(), own.end(), [](const PassageMark& mark) { return mark.readable; });
    if (readable && text_hash_of(own) == sealed_as[i]->text_hash) {
      out.marks.insert(out.marks.end(), own.begin(), own.end());
    } else {
      out.check.changed.push_back(candidates[i].id);
    }
  }
  std::sort(out.check.changed.begin(), out.check.changed.end());
  std::sort(out.marks.begin(), out.marks.end(),
            [](const PassageMark& a, const PassageMark& b) { return a.chunk < b.chunk; });
  return out;
}

}  // namespace casemate
