// casemate/llm/prompt_digest.h
#pragma once

#include "casemate/core/hash.h"
#include "casemate/llm/prompt.h"

namespace casemate {

/// Of everything that a model sees of a prompt: form, roles, parts and whether they are trusted. Two prompts have the
/// same one only if they are the same.
[[nodiscard]] Digest prompt_digest(const Prompt& prompt);

}  // namespace casemate
