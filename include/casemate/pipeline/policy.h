// casemate/pipeline/policy.h
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/certify/retrieval_condition.h"
#include "casemate/core/status.h"
#include "casemate/defend/defences.h"
#include "casemate/generate/robust_rag.h"
#include "casemate/retrieve/retriever.h"
#include "casemate/sanitize/output_guard.h"
#include "casemate/sanitize/sanitizers.h"

namespace casemate {

/// How an answer is made from the passages.
struct GenerationChoice {
  std::optional<Aggregation> aggregation;  ///< nothing: one prompt with all passages
  int group_size = 1;                      ///< omega: passages a group of an aggregation; >= 1
  bool long_text = false;                  ///< answers are sentences, not a few words (aggregations only)
  bool certify = false;                    ///< say how many malicious passages cannot change the answer
  /// Also say what such passages in the corpus could change, through RAGPart's votes (certify, group_size 1, ragpart
  /// alone, dense). Nothing: the certificate is about the passages given.
  std::optional<PlantedPassages> planted{};
};

/// A named, dated set of choices, so that a user needs no knob and an upgrade changes no behaviour unasked.
struct Policy {
  std::string name;                       ///< with its date: "off-2026-11"
  std::string description;                ///< one line for --help
  RetrieverOptions retrieval;             ///< how candidates are found
  int top_k = 5;                          ///< passages that reach the answer; in [1, 1000]
  int max_new_tokens = 256;               ///< length of an answer in model tokens; in [1, 32768]
  std::vector<DefenceChoice> defences{};  ///< in the order in which they run; one that scans can only stand first
  GenerationChoice generation{};
  std::optional<SanitizerChoice> sanitize{};  ///< what the generator reads instead of passages; nothing: the passages
  std::optional<GuardOptions> guard{};        ///< watches the answer; nothing: it goes out as it is
  /// Defences whose failure (a model that is missing or does not answer) a query goes on without, which its evidence
  /// says; any other failure ends the query. A defence that scans cannot be here: nothing else finds passages.
  std::vector<std::string> may_fail{};
};

/// True where the policy is there to keep passages' text in: it has a sanitizer that bounds what goes on, or a guard.
/// Whoever may ask but not read the corpus must then see no passage text beside the answer either.
[[nodiscard]] bool protects_passages(const Policy& policy);

/// All policies of this version, newest date of each name last.
[[nodiscard]] std::span<const Policy> policies();

/// Finds a policy by its dated name, or by its plain name ("off"), which means the newest date.
/// Error: NotFound, naming the nearest one and listing all.
[[nodiscard]] Result<Policy> find_policy(std::string_view name);

}  // namespace casemate
