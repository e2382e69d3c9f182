// casemate/pipeline/policy.h
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/defend/defences.h"
#include "casemate/retrieve/retriever.h"

namespace casemate {

/// A named, dated set of choices, so that a user needs no knob and an upgrade changes no behaviour unasked.
struct Policy {
  std::string name;                       ///< with its date: "off-2026-11"
  std::string description;                ///< one line for --help
  RetrieverOptions retrieval;             ///< how candidates are found
  int top_k = 5;                          ///< passages that reach the answer; in [1, 1000]
  int max_new_tokens = 256;               ///< length of an answer in model tokens; in [1, 32768]
  std::vector<DefenceChoice> defences{};  ///< in the order in which they run; one that scans can only stand first
};

/// All policies of this version, newest date of each name last.
[[nodiscard]] std::span<const Policy> policies();

/// Finds a policy by its dated name, or by its plain name ("off"), which means the newest date.
/// Error: NotFound, naming the nearest one and listing all.
[[nodiscard]] Result<Policy> find_policy(std::string_view name);

}  // namespace casemate
