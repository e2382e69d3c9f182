// apps/casemate/attack_input.h
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/store/store.h"
#include "context.h"

namespace casemate::cli {

/// Which queries are attacked.
struct TargetChoice {
  std::string queries;             ///< a file
  std::vector<std::string> texts;  ///< on the command line
  int limit = 0;                   ///< so many, drawn under the seed; 0: all
};

void add_target_options(CLI::App& app, TargetChoice& choice);
/// Error: InvalidArgument where none is named; what the reader says.
[[nodiscard]] Result<std::vector<AttackTarget>> choose_targets(const TargetChoice& choice, std::uint64_t seed);

/// Passages that an attacker could alter: the first chunk of each document of the store that was not planted.
[[nodiscard]] Result<std::vector<CorpusPassage>> passages_of_store(const Store& store, const std::string& tenant,
                                                                   std::stop_token stop);
/// The documents of a file or folder, whole. What cannot be read is said and left out. Error: InvalidInput where
/// nothing is left; what the readers say.
[[nodiscard]] Result<std::vector<CorpusPassage>> passages_of_path(const Context& context, const std::string& path);

}  // namespace casemate::cli
