#include "conversation.h"

#include "casemate/llm/prompt.h"

namespace casemate::server {
namespace {

constexpr std::size_t kTurnsUsed = 6;
constexpr std::size_t kBytesOfATurn = 1000;

ApiError wrong(std::string what) {
  return {400, "invalid_request_error", "invalid_value", std::move(what), "messages"};
}

/// A message's content: a string, or a list of parts {type: "text", text}.
std::variant<std::string, ApiError> content_of(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return std::string();
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return wrong("the content of a message must be a string or a list of parts");
  std::string text;
  for (const Json& part : *content) {
    const bool is_text = part.is_object() && part.contains("type") && part["type"] == "text" && part.contains("text") &&
                         part["text"].is_string();
    if (!is_text) return wrong("messages may hold text only");
    text += part["text"].get<std::string>();
  }
  return text;
}

UntrustedText shortened(const UntrustedText& text) {
  return text.size() <= kBytesOfATurn ? text : UntrustedText(text.bytes().substr(0, kBytesOfATurn));
}

}  // namespace

std::variant<Conversation, ApiError> read_conversation(const Json& messages, std::size_t max_bytes) {
  Conversation out;
  bool last_is_user = false;
  std::string style;
  for (const Json& message : messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      return wrong("each message must be an object with a role");
    const std::string role = message["role"];
    auto content = content_of(message);
    if (const auto* error = std::get_if<ApiError>(&content)) return *error;
    std::string text = std::get<std::string>(std::move(content));
    last_is_user = role == "user";
    if (role == "system" || role == "developer") {
      if (!style.empty() && !text.empty()) style += '\n';
      style += text;
      continue;
    }
    if (role != "user" && role != "assistant") return wrong("roles are system, developer, user and assistant");
    out.earlier.push_back({role == "user", UntrustedText(std::move(text))});
  }
  if (!last_is_user) return wrong("the last message must be the user's question");
  out.question = std::move(out.earlier.back().text);
  out.earlier.pop_back();
  out.style = UntrustedText(std::move(style));
  for (const auto& [what, text] : {std::pair{"question has ", &out.question}, {"system messages have ", &out.style}}) {
    if (text->size() <= max_bytes) continue;
    ApiError error = too_large("the " + std::string(what) + std::to_string(text->size()) + " bytes; at most " +
                               std::to_string(max_bytes) + " are allowed");
    error.param = "messages";
    return error;
  }
  return out;
}

Result<UntrustedText> standalone_question(LanguageModel& model, const Conversation& conversation,
                                          std::stop_token stop) {
  if (conversation.earlier.empty()) return conversation.question;
  PromptBuilder builder = PromptBuilder::chat();
  builder.system(
      "Rewrite the last question of a conversation so that it can be understood by itself: put names in place of words "
      "such as \"it\" or \"there\". Keep its meaning and add nothing. Reply with the question only.");
  builder.user("Conversation:\n");
  const std::size_t first = conversation.earlier.size() - std::min(conversation.earlier.size(), kTurnsUsed);
  for (std::size_t i = first; i < conversation.earlier.size(); ++i) {
    const Turn& turn = conversation.earlier[i];
    builder.text(turn.by_user ? "User: " : "Assistant: ").untrusted(shortened(turn.text)).text("\n");
  }
  builder.text("\nLast question: ").untrusted(conversation.question).text("\nRewritten question:");
  GenerateOptions options;
  options.max_new_tokens = 96;
  options.stop = {"\n"};
  const auto made = model.generate(builder.build(), options, std::move(stop));
  if (!made) return made.error();
  const std::string& text = made->text.bytes();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return conversation.question;
  return made->text;
}

}  // namespace casemate::server
