// casemate/store/encoder_identity.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"

namespace casemate {

/// What made the vectors of a store. A store remembers it, and vectors made otherwise are not comparable, so another
/// identity is refused. All texts are free-form; two identities are the same when every field is.
struct EncoderIdentity {
  std::string model;                  ///< "intfloat/e5-small-v2"
  std::string model_hash;             ///< hexadecimal hash of the weights file
  int dimension = 0;                  ///< d, in [1, 65536]
  std::string pooling;                ///< "mean", "cls"
  bool normalised = true;             ///< embeddings have unit length
  std::string query_prefix;           ///< put before a query, "query: "
  std::string passage_prefix;         ///< put before a passage, "passage: "
  int max_tokens = 0;                 ///< longest input that the encoder reads; >= 1
  std::string chunker;                ///< "sentences"
  std::string chunker_parameters;     ///< "tokens=200 overlap=40"
  std::string precision = "float32";  ///< "float32", "fixed16"

  friend bool operator==(const EncoderIdentity&, const EncoderIdentity&) = default;
};

/// One field in which two identities differ.
struct IdentityDifference {
  std::string field;    ///< "pooling"
  std::string stored;   ///< what the store has
  std::string offered;  ///< what the caller has
};

/// Every field that differs, in the order of the struct.
[[nodiscard]] std::vector<IdentityDifference> differences(const EncoderIdentity& stored,
                                                          const EncoderIdentity& offered);
/// "pooling is "mean" in the store and "cls" here; ...". Empty where nothing differs.
[[nodiscard]] std::string describe(const std::vector<IdentityDifference>& found);

/// Canonical JSON of an identity (docs/format.md).
[[nodiscard]] std::string to_json(const EncoderIdentity& identity);
/// Error: InvalidInput, naming the field.
[[nodiscard]] Result<EncoderIdentity> encoder_identity_from_json(std::string_view json);
/// BLAKE2b-256 of the canonical JSON: the model identity hash in segment headers.
[[nodiscard]] Digest identity_hash(const EncoderIdentity& identity);

}  // namespace casemate
