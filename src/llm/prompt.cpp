#include "casemate/llm/prompt.h"

#include <utility>

namespace casemate {

std::string_view role_name(Role role) noexcept {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "user";
}

PromptBuilder PromptBuilder::chat() { return PromptBuilder(); }

PromptBuilder PromptBuilder::plain() {
  PromptBuilder builder;
  builder.prompt_.chat = false;
  return builder;
}

PromptBuilder& PromptBuilder::system(std::string_view trusted_text) { return open(Role::kSystem, trusted_text); }
PromptBuilder& PromptBuilder::user(std::string_view trusted_text) { return open(Role::kUser, trusted_text); }
PromptBuilder& PromptBuilder::assistant(std::string_view trusted_text) { return open(Role::kAssistant, trusted_text); }

PromptBuilder& PromptBuilder::text(std::string_view trusted_text) {
  append(std::string(trusted_text), true);
  return *this;
}

PromptBuilder& PromptBuilder::untrusted(const UntrustedText& text) {
  append(text.for_prompt(), false);
  return *this;
}

PromptBuilder& PromptBuilder::open(Role role, std::string_view trusted_text) {
  // A plain prompt is one run of text, so opening a message only goes on with it.
  if (prompt_.chat || prompt_.messages.empty()) prompt_.messages.push_back({role, {}});
  append(std::string(trusted_text), true);
  return *this;
}

void PromptBuilder::append(std::string text, bool trusted) {
  if (text.empty()) return;
  if (prompt_.messages.empty()) prompt_.messages.push_back({Role::kUser, {}});
  prompt_.messages.back().parts.push_back({std::move(text), trusted});
}

}  // namespace casemate
