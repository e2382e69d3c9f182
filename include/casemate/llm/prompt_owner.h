// casemate/llm/prompt_owner.h
#pragma once

#include <string>

namespace casemate {

/// Whose prompts this thread has computed, from here to the end of the scope. A model in this process keeps what it
/// read of the last prompt for the next one that begins the same. For another owner only our own words at its beginning
/// are taken from there (instructions, examples): otherwise the time that a prompt takes would tell what stood in the
/// prompt of somebody else, word by word. Scopes nest; without one the owner is "".
class PromptOwner {
 public:
  explicit PromptOwner(std::string owner);
  ~PromptOwner();
  PromptOwner(const PromptOwner&) = delete;
  PromptOwner& operator=(const PromptOwner&) = delete;
  [[nodiscard]] static const std::string& current() noexcept;

 private:
  std::string outer_;
};

}  // namespace casemate
