// casemate/defend/consistency.h
#pragma once

#include <memory>

#include "casemate/defend/defences.h"

namespace casemate {

struct ConsistencyOptions {
  int pool_size = 10;       ///< candidates read, at least top_k; in [1, 100]
  double min_f1 = 0.5;      ///< answers agree from this token F1 on; in (0, 1]
  int min_agreeing = 2;     ///< passages that must agree before others are dropped; in [2, 100]
  int max_new_tokens = 20;  ///< longest answer; in [1, 200]
};

/// Keeps passages whose answers to the query agree.
///
/// The language model answers the query from each passage by itself. Answers agree where their token F1 (SQuAD
/// normalisation) reaches `min_f1`; the largest set of passages that agree with one of them is kept (ties: the set
/// whose best passage ranks higher) together with those that give no answer, and the passages that answer otherwise are
/// dropped. Where fewer than `min_agreeing` agree, nothing is dropped. A majority of planted passages wins: see the
/// docs page.
class Consistency final : public RetrievalDefence {
 public:
  /// Error: InvalidOption; InvalidArgument without a language model.
  [[nodiscard]] static Result<std::unique_ptr<Consistency>> create(const ConsistencyOptions& options,
                                                                   const DefenceServices& services);

  [[nodiscard]] std::string_view name() const noexcept override { return "consistency"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;

 private:
  Consistency(const ConsistencyOptions& options, LanguageModel& model) : options_(options), model_(&model) {}
  ConsistencyOptions options_;
  LanguageModel* model_;
};

}  // namespace casemate
