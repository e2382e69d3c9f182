// Adds documents to a store in batches and says each batch that was acknowledged, until it is killed.
// usage: store_kill_helper STORE FIRST_BATCH
#include <unistd.h>

#include "store/store_fixture.h"

int main(int argc, char** argv) {
  using namespace casemate;
  using namespace casemate::test;
  if (argc != 3) return 2;
  auto store = Store::open(argv[1]);
  if (!store && store.error().code == ErrorCode::kNotFound) store = Store::create(argv[1], test_encoder());
  if (!store) return 3;
  for (int batch = std::stoi(argv[2]);; ++batch) {
    std::vector<NewDocument> documents;
    for (int i = 0; i < 5; ++i) {
      const std::string id = std::to_string(batch) + "-" + std::to_string(i);
      documents.push_back(test_document("t", id, {"alpha " + id, "beta " + id}));
    }
    if (!(*store)->add_documents(documents)) return 4;
    const std::string line = std::to_string(batch) + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return 5;
    if (batch % 10 == 9 && !(*store)->compact()) return 6;
  }
}
