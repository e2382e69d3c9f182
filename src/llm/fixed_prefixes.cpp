#include "llm/fixed_prefixes.h"

#include <algorithm>
#include <utility>

namespace casemate::llm {

std::size_t fixed_tokens(const Prompt& prompt, const PromptTokens& tokens) {
  std::size_t count = 0;
  for (const PromptTokenOrigin& origin : tokens.origins) {
    if (origin.message >= 0 && origin.part >= 0) {
      const auto& parts = prompt.messages[static_cast<std::size_t>(origin.message)].parts;
      if (!parts[static_cast<std::size_t>(origin.part)].trusted) break;
    }
    ++count;
  }
  return count;
}

const std::string* FixedPrefixes::find(std::span<const TokenId> tokens) {
  const auto known = std::find_if(latest_first_.begin(), latest_first_.end(), [&](const Entry& entry) {
    return std::equal(entry.tokens.begin(), entry.tokens.end(), tokens.begin(), tokens.end());
  });
  if (known == latest_first_.end()) return nullptr;
  latest_first_.splice(latest_first_.begin(), latest_first_, known);
  return &latest_first_.front().state;
}

void FixedPrefixes::keep(std::span<const TokenId> tokens, std::string state) {
  if (state.size() > most_bytes_ || find(tokens) != nullptr) return;
  bytes_ += state.size();
  latest_first_.push_front({std::vector<TokenId>(tokens.begin(), tokens.end()), std::move(state)});
  while (bytes_ > most_bytes_) {
    bytes_ -= latest_first_.back().state.size();
    latest_first_.pop_back();
  }
}

}  // namespace casemate::llm
