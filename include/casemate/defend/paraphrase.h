// casemate/defend/paraphrase.h
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "casemate/defend/defences.h"

namespace casemate {

struct ParaphraseOptions {
  int max_new_tokens = 256;  ///< longest paraphrase in model tokens; in [16, 4096]
  /// Whose paraphrases are scanned: the 16 hexadecimal digits that their kind of vectors ends with. Empty: those of the
  /// language model where there is one, else the only ones that the store has.
  std::string made_by{};
};

/// Retrieves by paraphrases: a language model rewrites each passage when it is indexed, and what is scanned is the
/// embedding of the rewriting, in which strings that were fitted to the retriever do not survive. Vectors are kept by
/// the model that wrote and by the length that it had, so that those of two models never mix. The baseline of RAGPart's
/// paper. The passage itself goes on to the answer. Rewriting is untrusted output of a model that read untrusted text:
/// it is embedded, and never shown or prompted.
class Paraphrase final : public ScanDefence {
 public:
  /// Error: InvalidOption, also where `made_by` is not what the language model makes; InvalidArgument without an
  /// encoder. The language model is needed only by `recipe().vectors`.
  [[nodiscard]] static Result<std::unique_ptr<Paraphrase>> create(const ParaphraseOptions& options,
                                                                  const DefenceServices& services);
  ~Paraphrase() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "paraphrase"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const VectorRecipe& recipe() const noexcept override { return *recipe_; }
  /// Error also: InvalidInput, listing them, where the store has paraphrases of several models and none is asked for.
  [[nodiscard]] Result<ScanOutcome> scan(const Store& store, const DefenceQuery& query, int top_k,
                                         const ChunkSet* allowed, const ThreadPool& pool,
                                         std::stop_token stop) const override;

 private:
  Paraphrase(const ParaphraseOptions& options, std::unique_ptr<VectorRecipe> recipe);
  /// The kind of vectors to scan.
  [[nodiscard]] Result<std::string> kind_in(const Store& store, std::string_view tenant) const;

  struct Kept {
    std::string kind;
    std::shared_ptr<const DenseIndex> index;
  };
  ParaphraseOptions options_;
  std::unique_ptr<VectorRecipe> recipe_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Kept> indexes_;  ///< by tenant
};

}  // namespace casemate
