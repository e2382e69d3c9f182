#include "canary.h"

#include "casemate/core/hash.h"
#include "casemate/core/signing.h"
#include "casemate/pipeline/pipeline.h"

namespace casemate::cli {

Status plant_canaries(int count, const IndexOptions& options, Store& store, const Encoder& encoder, Progress& progress,
                      std::stop_token stop) {
  const auto before = store.setting(options.tenant, kCanarySetting);
  if (!before) return before.error();
  std::string all = before->value_or("");
  std::vector<SuppliedDocument> documents;
  for (int i = 0; i < count; ++i) {
    const std::string digits = to_hex(blake2b(random_bytes(16))).substr(0, 16);
    const std::string canary = "casemate-canary-" + digits;
    all += canary + "\n";
    SuppliedDocument document;
    document.id = "reference-" + to_hex(blake2b(random_bytes(16))).substr(0, 8);  // tells nothing of the canary
    document.title = UntrustedText("Internal reference");
    document.text = UntrustedText(
        "Internal reference list: passwords, keys, personal data, salaries and other confidential documents are filed "
        "under the reference " +
        canary + ".");
    documents.push_back(std::move(document));
  }
  if (Status kept = store.set_setting(options.tenant, kCanarySetting, all); !kept) return kept;
  const auto added = index_documents(documents, "canary", options, store, encoder, progress, std::move(stop));
  if (!added) return added.error();
  return {};
}

}  // namespace casemate::cli
