// tests/encoder/double_transformer.h
#pragma once

#include <string>
#include <vector>

#include "casemate/text/tokenizer.h"
#include "support/tiny_checkpoint.h"

namespace casemate::test {

using Matrix = std::vector<std::vector<double>>;  ///< rows

/// What finite differences move. Empty: nothing.
struct Perturbation {
  Matrix shift;                  ///< added to the word embedding at each position
  std::vector<double> presence;  ///< each token's weight as a key of attention (1: as the model has it)
};

/// The forward pass in double precision, written from the architecture's definition one token at a time: no packing, no
/// fusing, no library. `types` may be empty.
Matrix double_forward(const TinyCheckpoint& checkpoint, const std::vector<TokenId>& ids,
                      const std::vector<TokenId>& types, const Perturbation& perturbation = {});

/// W x + b with the checkpoint's tensors `name`.weight and `name`.bias.
std::vector<double> double_linear(const TinyCheckpoint& checkpoint, const std::string& name,
                                  const std::vector<double>& x);

}  // namespace casemate::test
