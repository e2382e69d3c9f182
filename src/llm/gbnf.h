// llm/gbnf.h
#pragma once

#include <functional>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate::llm {

/// Whether "<name>" is one token of the model.
using IsToken = std::function<bool(std::string_view)>;

/// Whether llama.cpp's parser takes `text` as a grammar with a rule named root. It says what is wrong on standard error
/// alone, has no bound on memory or nesting, and loops on "{3,2}"; so it is given only what passes here. Left recursion
/// it finds itself, and says so in its log.
/// Error: InvalidOption, with line, column and reason; Limit for a grammar that is out of all proportion.
[[nodiscard]] Status check_gbnf(std::string_view text, const IsToken& is_token);

}  // namespace casemate::llm
