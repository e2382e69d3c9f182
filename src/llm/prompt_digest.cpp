#include "casemate/llm/prompt_digest.h"

namespace casemate {

Digest prompt_digest(const Prompt& prompt) {
  FieldHasher fields;
  fields.add(std::int64_t{prompt.chat});
  for (const PromptMessage& message : prompt.messages) {
    // The number of a message's parts is a field too, so that no two prompts give the same list.
    fields.add(static_cast<std::int64_t>(message.role)).add(static_cast<std::int64_t>(message.parts.size()));
    for (const PromptPart& part : message.parts) fields.add(std::int64_t{part.trusted}).add(part.text);
  }
  return fields.finish();
}

}  // namespace casemate
