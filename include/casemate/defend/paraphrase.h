// casemate/defend/paraphrase.h
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "casemate/defend/defences.h"

namespace casemate {

struct ParaphraseOptions {
  int max_new_tokens = 256;  ///< longest paraphrase in model tokens; in [16, 4096]
};

/// Retrieves by paraphrases: a language model rewrites each passage when it is indexed, and what is scanned is the
/// embedding of the rewriting, in which strings that were fitted to the retriever do not survive. The baseline of
/// RAGPart's paper. The passage itself goes on to the answer. Rewriting is untrusted output of a model that read
/// untrusted text: it is embedded, and never shown or prompted.
class Paraphrase final : public ScanDefence {
 public:
  /// Error: InvalidOption; InvalidArgument without an encoder. The language model is needed only by `recipe().vectors`.
  [[nodiscard]] static Result<std::unique_ptr<Paraphrase>> create(const ParaphraseOptions& options,
                                                                  const DefenceServices& services);
  ~Paraphrase() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "paraphrase"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const VectorRecipe& recipe() const noexcept override { return *recipe_; }
  [[nodiscard]] Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query, int top_k,
                                         const ChunkSet* allowed, const ThreadPool& pool,
                                         std::stop_token stop) const override;

 private:
  Paraphrase(const ParaphraseOptions& options, std::unique_ptr<VectorRecipe> recipe);
  ParaphraseOptions options_;
  std::unique_ptr<VectorRecipe> recipe_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const DenseIndex>> indexes_;
};

}  // namespace casemate
