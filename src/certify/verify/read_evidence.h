// certify/verify/read_evidence.h
#pragma once

#include <cstddef>

#include "casemate/certify/certificate.h"
#include "certify/verify/json_fields.h"

namespace casemate::verify {

inline constexpr std::size_t kMaxPassages = 4096;
inline constexpr std::size_t kMaxItems = 1'000'000;  ///< of any list
inline constexpr std::int64_t kMaxSimilarity = std::int64_t{1} << 57;

// Each throws Malformed. `groups` is how many groups there are.
[[nodiscard]] VotingEvidence read_voting(const Json& json, std::size_t groups);
[[nodiscard]] KeywordEvidence read_keyword(const Json& json, std::size_t groups);
[[nodiscard]] DecodingEvidence read_decoding(const Json& json, std::size_t groups);
[[nodiscard]] RetrievalEvidence read_retrieval(const Json& json);

}  // namespace casemate::verify
