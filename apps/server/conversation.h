// What a chat asks, read from OpenAI's messages.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/llm/language_model.h"
#include "fields.h"

namespace casemate::server {

struct Turn {
  bool by_user = true;
  UntrustedText text;
};

struct Conversation {
  std::vector<Turn> earlier;  ///< turns of user and assistant before the question
  UntrustedText question;     ///< the last message, which must be a user's
  UntrustedText style;        ///< what the system messages say, together
};

/// Reads `messages`. Error: a list that is empty or does not end with a user's text, unknown roles, images and other
/// parts that are no text, a question or system messages of more than `max_bytes`.
[[nodiscard]] std::variant<Conversation, ApiError> read_conversation(const Json& messages, std::size_t max_bytes);

/// The question in words that can be understood without the earlier turns, by the model; the question itself where
/// there are none, or the model gives nothing usable. Error: what the model says; Cancelled.
[[nodiscard]] Result<UntrustedText> standalone_question(LanguageModel& model, const Conversation& conversation,
                                                        std::stop_token stop);

}  // namespace casemate::server
