// Any bytes as a BM25 query over a small store: never an error, never another tenant's passage.
#include <unistd.h>

#include <filesystem>
#include <set>

#include "casemate/store/store.h"
#include "fuzz_support.h"

namespace {

using namespace casemate;

std::unique_ptr<Store> make_store() {
  const std::string path =
      std::filesystem::temp_directory_path().string() + "/casemate-fuzz-store-" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  EncoderIdentity encoder;
  encoder.model = "fuzz";
  encoder.model_hash = std::string(64, 'a');
  encoder.dimension = 2;
  encoder.pooling = "mean";
  encoder.max_tokens = 16;
  encoder.chunker = "sentences";
  auto store = Store::create(path, encoder);
  if (!store) std::fprintf(stderr, "%s\n", store.error().message.c_str());
  fuzz::require(store.ok(), "a store can be made");
  std::vector<NewDocument> documents;
  for (const char* tenant : {"own", "other"}) {
    for (const char* text :
         {"the ferry AND the tide", "OR NEAR(quay) \"quoted\" a* ^b", "caf\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87"}) {
      NewDocument document;
      document.tenant = tenant;
      document.id = text;
      document.chunks = {{UntrustedText(text), 0, 1, 0, 0}};
      document.embeddings = {1, 0};
      documents.push_back(document);
    }
  }
  fuzz::require((*store)->add_documents(documents).ok(), "documents can be added");
  static const std::string remembered = path;
  std::atexit([] { std::filesystem::remove_all(remembered); });
  return *std::move(store);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<Store> store = make_store();
  const auto hits = store->bm25("own", UntrustedText(std::string(fuzz::as_text(data, size))), 2);
  if (!hits) std::fprintf(stderr, "%s\n", hits.error().message.c_str());
  fuzz::require(hits.ok(), "no query is an error");
  fuzz::require(hits->size() <= 2, "at most top_k come");
  for (std::size_t i = 0; i < hits->size(); ++i) {
    const ChunkId id = (*hits)[i].chunk;
    fuzz::require(store->chunks("own", std::span(&id, 1))->front().ok(), "hits are the tenant's own");
    fuzz::require(i == 0 || (*hits)[i - 1].score >= (*hits)[i].score, "best first");
  }
  return 0;
}
