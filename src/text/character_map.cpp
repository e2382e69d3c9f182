#include "text/character_map.h"

namespace casemate {
namespace {

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

Result<CharacterMap> CharacterMap::parse(std::string_view blob) {
  CharacterMap map;
  if (blob.empty()) return map;
  if (blob.size() < 4) return Error{ErrorCode::kInvalidInput, "the character map is cut short"};
  const std::uint32_t size = read_u32(blob, 0);
  if (size % 4 != 0 || size > blob.size() - 4)
    return Error{ErrorCode::kInvalidInput, "the character map's trie does not fit its size"};
  for (std::size_t at = 4; at < 4 + std::size_t{size}; at += 4) map.trie_.push_back(read_u32(blob, at));
  map.replacements_ = blob.substr(4 + size);
  map.replacements_ += '\0';
  return map;
}

const char* CharacterMap::find(std::string_view text) const {
  // Darts double array: a unit holds label, offset to its children and whether a value follows.
  const auto offset = [](std::uint32_t unit) { return (unit >> 10U) << ((unit & (1U << 9U)) >> 6U); };
  if (trie_.empty()) return nullptr;
  std::size_t node = offset(trie_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return nullptr;
    node ^= byte;
    if (node >= trie_.size()) return nullptr;
    const std::uint32_t unit = trie_[node];
    if ((unit & ((1U << 31U) | 0xFFU)) != byte) return nullptr;
    node ^= offset(unit);
    if (((unit >> 8U) & 1U) == 0) continue;
    if (node >= trie_.size()) return nullptr;
    const std::size_t at = trie_[node] & ((1U << 31U) - 1);
    return at < replacements_.size() ? replacements_.c_str() + at : nullptr;
  }
  return nullptr;
}

}  // namespace casemate
