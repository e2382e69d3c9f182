// What an OpenAI-compatible server sends back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate::llm {

/// A whole reply, or one event of a streamed one.
struct RemoteReply {
  std::string text;
  std::optional<FinishReason> finish;
  std::vector<GeneratedPosition> positions;
  std::size_t prompt_tokens = 0;
  std::size_t cached_tokens = 0;
  std::size_t generated_tokens = 0;
};

/// Both endpoints, whole and streamed. Invalid UTF-8 becomes U+FFFD. Error: Model, with how the reply begins.
[[nodiscard]] Result<RemoteReply> parse_remote_reply(std::string_view json);
/// The server's own words for an error, or how the body begins.
[[nodiscard]] std::string remote_error_text(std::string_view body);
/// Whether an error reply says that the prompt is larger than the model's context, in the words of the servers that are
/// in use (OpenAI's code, llama.cpp's type, vLLM's message).
[[nodiscard]] bool is_context_overflow(std::string_view body);

}  // namespace casemate::llm
