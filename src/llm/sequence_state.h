// The bytes of a SequenceState: model key, tokens, cells, checksum.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/llm/llm_batch.h"

namespace casemate::llm {

struct LoadedState {
  std::vector<TokenId> tokens;
  std::string cells;
};

[[nodiscard]] SequenceState pack_state(std::span<const TokenId> tokens, std::string_view cells, const Digest& key);
/// Error: Corrupt (damaged or cut short), Mismatch (made by another model).
[[nodiscard]] Result<LoadedState> unpack_state(const SequenceState& state, const Digest& key);

}  // namespace casemate::llm
