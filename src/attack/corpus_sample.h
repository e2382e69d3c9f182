// src/attack/corpus_sample.h
#pragma once

#include <vector>

#include "casemate/attack/attack.h"

namespace casemate {

/// Indices of the passages that a corpus attack alters: round(rate * corpus) different ones, the same for every attack
/// under one seed.
[[nodiscard]] std::vector<std::size_t> sample_corpus(const AttackInput& input, double rate);

/// Error: InvalidOption unless `rate` is in [0, 1].
[[nodiscard]] Status check_rate(std::string_view attack, double rate);

/// A crafted document about `passage`, number `number` of `attack`, meant for the targets that the passage answers;
/// its text is still to be set.
[[nodiscard]] CraftedDocument crafted_from(const AttackInput& input, std::string_view attack, std::size_t number,
                                           const CorpusPassage& passage);

}  // namespace casemate
