// src/pipeline/pipeline_state.h
#pragma once

#include <algorithm>
#include <map>
#include <memory>

#include "casemate/core/signing.h"
#include "casemate/defend/passage_cache.h"
#include "casemate/pipeline/pipeline.h"
#include "casemate/text/keywords.h"

namespace casemate {

/// Where no passage was found, or none may be shown: an answer that says so, without asking the model.
[[nodiscard]] Answer answer_from_nothing(SearchResult found, const UntrustedText& question);

struct Pipeline::State {
  PipelineParts parts;
  Policy policy;
  std::map<RetrievalMode, std::unique_ptr<Retriever>> retrievers;
  std::unique_ptr<PassageCache> own_cache;  ///< where none was given
  std::unique_ptr<ScanDefence> scan;        ///< null: the undefended scan
  std::vector<std::unique_ptr<RetrievalDefence>> defences;
  std::vector<DegradedStage> missing;  ///< defences that could not be made and may fail

  std::unique_ptr<KeywordExtractor> keywords;  ///< for keyword aggregation
  std::optional<SigningKey> own_key;           ///< where none was given
  std::unique_ptr<Sanitizer> sanitizer;        ///< null: passages go on as they are
  std::unique_ptr<Sanitizer> facts;            ///< what a guard that answers from facts falls back to

  [[nodiscard]] bool may_fail(std::string_view defence) const;
  /// Makes the policy's defences.
  [[nodiscard]] Status add_defences(const DefenceServices& services);
  /// What retrieval proposes, undefended or by a scan defence; fills name, parameters, notes and verdicts of `stage`.
  [[nodiscard]] Result<Candidates> find(const DefenceQuery& query, const QueryOptions& options, RetrievalMode mode,
                                        int top_k, StageEvidence& stage, std::stop_token stop) const;
  /// Of one answer: the policy's, or what the question asks for where that is less.
  [[nodiscard]] int max_new_tokens(const QueryOptions& options) const {
    return std::clamp(options.max_new_tokens.value_or(policy.max_new_tokens), 1, policy.max_new_tokens);
  }
  /// What an aggregating policy needs.
  [[nodiscard]] Status prepare_generation();
  /// Answers from passages that were found, in the policy's way.
  [[nodiscard]] Result<Answer> ask_about(SearchResult found, const UntrustedText& question, const QueryOptions& options,
                                         const std::function<void(const UntrustedText&)>& on_text,
                                         std::stop_token stop) const;
  [[nodiscard]] Result<Answer> ask_in_one_prompt(SearchResult found, const UntrustedText& question,
                                                 const QueryOptions& options,
                                                 const std::function<void(const UntrustedText&)>& on_text,
                                                 std::stop_token stop) const;
  [[nodiscard]] Result<Answer> ask_groups(SearchResult found, const UntrustedText& question,
                                          const QueryOptions& options, std::stop_token stop) const;
  /// Makes the policy's sanitizer. Error: what it says; InvalidOption together with an aggregation.
  [[nodiscard]] Status prepare_protection();
  /// An answer through sanitizer and guard.
  [[nodiscard]] Result<Answer> ask_protected(SearchResult found, const UntrustedText& question,
                                             const QueryOptions& options,
                                             const std::function<void(const UntrustedText&)>& on_text,
                                             std::stop_token stop) const;
  /// What passages planted in the corpus could change in the retrieval of `found`. Error: Unsupported, naming what the
  /// condition says nothing of.
  [[nodiscard]] Result<RetrievalEvidence> retrieval_evidence(const SearchResult& found, const QueryOptions& options,
                                                             const PlantedPassages& planted) const;
  /// Adds the stage "undefended": which passages stand where without defences, and what became of them.
  [[nodiscard]] Status explain(const QueryOptions& options, RetrievalMode mode, int top_k, SearchResult& result) const;
};

}  // namespace casemate
