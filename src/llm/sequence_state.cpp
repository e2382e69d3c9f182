#include "llm/sequence_state.h"

#include <cstring>

namespace casemate::llm {
namespace {

constexpr std::string_view kMagic = "CMSEQ001";

std::string_view as_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

// Layout: magic, key (32), number of tokens (8, host order: the cells are in host order too), tokens, cells,
// BLAKE2b-256 of all before.
SequenceState pack_state(std::span<const TokenId> tokens, std::string_view cells, const Digest& key) {
  const std::uint64_t count = tokens.size();
  SequenceState state;
  state.bytes.reserve(kMagic.size() + 2 * key.size() + sizeof count + tokens.size_bytes() + cells.size());
  state.bytes += kMagic;
  state.bytes += as_bytes(key);
  state.bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
  state.bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  state.bytes += cells;
  state.bytes += as_bytes(blake2b(state.bytes));
  return state;
}

Result<LoadedState> unpack_state(const SequenceState& state, const Digest& key) {
  const auto corrupt = [] { return Error{ErrorCode::kCorrupt, "a sequence state is damaged; compute it again"}; };
  std::string_view bytes(state.bytes);
  const std::size_t header = kMagic.size() + key.size() + sizeof(std::uint64_t);
  if (bytes.size() < header + key.size() || !bytes.starts_with(kMagic)) return corrupt();
  const std::string_view checksum = bytes.substr(bytes.size() - key.size());
  bytes.remove_suffix(key.size());
  if (checksum != as_bytes(blake2b(bytes))) return corrupt();
  if (bytes.substr(kMagic.size(), key.size()) != as_bytes(key)) {
    return Error{ErrorCode::kMismatch, "a sequence state was made by another model"};
  }
  std::uint64_t count = 0;
  std::memcpy(&count, bytes.data() + kMagic.size() + key.size(), sizeof count);
  bytes.remove_prefix(header);
  if (count == 0 || count > bytes.size() / sizeof(TokenId)) return corrupt();
  LoadedState out;
  out.tokens.resize(count);
  std::memcpy(out.tokens.data(), bytes.data(), count * sizeof(TokenId));
  out.cells = bytes.substr(count * sizeof(TokenId));
  return out;
}

}  // namespace casemate::llm
