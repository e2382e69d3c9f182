// casemate/llm/prompt.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/untrusted_text.h"
#include "casemate/text/tokenizer.h"

namespace casemate {

enum class Role : std::uint8_t { kSystem, kUser, kAssistant };

[[nodiscard]] std::string_view role_name(Role role) noexcept;  ///< "system", "user", "assistant"

/// A run of prompt text. Untrusted parts (passages, questions, earlier model output) never become special tokens.
struct PromptPart {
  std::string text;
  bool trusted = false;
};

struct PromptMessage {
  Role role = Role::kUser;
  std::vector<PromptPart> parts;
};

/// What a model is asked, independent of the model: chat messages, or plain text for models used as completers.
struct Prompt {
  std::vector<PromptMessage> messages;  ///< plain prompts have one message, whose role is not used
  bool chat = true;                     ///< true: the model's chat template frames the messages
};

/// Builds a `Prompt`. Text written by the program goes in with `text`, everything else with `untrusted`, which is the
/// only door for it: it passes `UntrustedText::for_prompt` and is later tokenised with special tokens as text.
///
///   Prompt prompt = PromptBuilder::chat().system("Answer from the passages.").user("Passage: ").untrusted(passage)
///                       .text("\nQuestion: ").untrusted(question).build();
class PromptBuilder {
 public:
  [[nodiscard]] static PromptBuilder chat();
  /// No template: the parts are all there is.
  [[nodiscard]] static PromptBuilder plain();

  PromptBuilder& system(std::string_view trusted_text = {});     ///< opens a system message
  PromptBuilder& user(std::string_view trusted_text = {});       ///< opens a user message
  PromptBuilder& assistant(std::string_view trusted_text = {});  ///< opens an assistant message (an example's answer)
  /// Adds to the open message; in a chat without one, opens a user message.
  PromptBuilder& text(std::string_view trusted_text);
  PromptBuilder& untrusted(const UntrustedText& text);

  [[nodiscard]] Prompt build() const { return prompt_; }

 private:
  PromptBuilder& open(Role role, std::string_view trusted_text);
  void append(std::string text, bool trusted);
  Prompt prompt_;
};

/// Where a prompt token comes from: bytes of a part, or the template (message = part = -1).
struct PromptTokenOrigin {
  int message = -1;
  int part = -1;
  TokenSpan span;  ///< bytes of PromptPart::text; {0, 0} for the template's tokens
};

/// A prompt in a model's vocabulary.
struct PromptTokens {
  std::vector<TokenId> ids;
  std::vector<PromptTokenOrigin> origins;  ///< one for each id
};

/// A special string of some model's vocabulary that was found in untrusted text and made harmless.
struct NeutralisedString {
  int message = 0;
  int part = 0;
  std::size_t offset = 0;  ///< byte in the part before the change
  std::string text;        ///< what stood there, "<|im_start|>"
};

/// For models behind a protocol that parses special tokens in all text: puts a visible separator ("·") into
/// each string that some model family reads as special ("<|im_start|>" becomes "<·|im_start|>"), in untrusted parts
/// only, and returns what was changed.
[[nodiscard]] std::vector<NeutralisedString> neutralise_special_strings(Prompt& prompt);

}  // namespace casemate
