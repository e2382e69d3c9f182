// testing/hash_encoder.h
#pragma once

#include <memory>

#include "casemate/encoder/encoder.h"

namespace casemate::testing {

struct HashEncoderOptions {
  std::size_t dimension = 64;  ///< >= 1
  int max_tokens = 256;        ///< longer texts are cut
  std::string query_prefix;
  std::string passage_prefix;
  /// Texts that hold this word cannot be embedded (as a damaged model could not); empty: none.
  std::string failing_word;
};

/// An encoder without a model, for tests: a word is a fixed random direction, a text the normalised sum of its words'
/// (ASCII letters and digits, case folded). Texts that share words are similar, others nearly orthogonal.
/// Deterministic, thread-safe. An empty text has the direction of its framing alone.
[[nodiscard]] std::unique_ptr<Encoder> make_hash_encoder(HashEncoderOptions options = {});

}  // namespace casemate::testing
