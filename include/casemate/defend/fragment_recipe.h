// casemate/defend/fragment_recipe.h
#pragma once

#include <memory>
#include <string>

#include "casemate/defend/scan_defence.h"
#include "casemate/encoder/encoder.h"
#include "casemate/text/fragments.h"

namespace casemate {

/// Embeddings of a passage's N fragments, each by itself, in order: what RAGPart scans (its section 3.1). A passage
/// with too few words repeats its last fragment; a passage without any token is embedded whole, N times. `encoder` must
/// outlive it. Error: InvalidOption for a count outside [1, 20].
[[nodiscard]] Result<std::unique_ptr<VectorRecipe>> make_fragment_recipe(const Encoder& encoder,
                                                                         const FragmentOptions& options);

/// Embeddings of all C(N,k) combinations of fragments, joined by blanks in text order: the paper's naive baseline.
/// Rows are in lexicographic order of the combination. Error: InvalidOption for N outside [1, 20], k outside [1, N], or
/// more than 1,024 combinations.
[[nodiscard]] Result<std::unique_ptr<VectorRecipe>> make_combination_recipe(const Encoder& encoder,
                                                                            const FragmentOptions& options, int k);

}  // namespace casemate
