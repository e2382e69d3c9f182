// States of what prompts begin with: instructions and examples, which come again before other texts.
#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "casemate/llm/prompt.h"
#include "casemate/text/tokenizer.h"

namespace casemate::llm {

/// A shorter beginning is computed as fast as it is copied.
inline constexpr std::size_t kShortestFixedPrefix = 24;

/// How many tokens the prompt begins with that are ours: nothing in them comes from passages, questions or users.
[[nodiscard]] std::size_t fixed_tokens(const Prompt& prompt, const PromptTokens& tokens);

/// Sequence states by their tokens; of those that do not fit `most_bytes` together, the least recently used go.
class FixedPrefixes {
 public:
  explicit FixedPrefixes(std::size_t most_bytes = std::size_t{64} << 20) : most_bytes_(most_bytes) {}

  /// Null where there is none. Valid until the next call.
  [[nodiscard]] const std::string* find(std::span<const TokenId> tokens);
  /// One that is larger than all of the room is not kept.
  void keep(std::span<const TokenId> tokens, std::string state);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry {
    std::vector<TokenId> tokens;
    std::string state;
  };
  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::list<Entry> latest_first_;
};

}  // namespace casemate::llm
