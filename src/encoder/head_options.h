// src/encoder/head_options.h
#pragma once

#include <string>

#include "casemate/core/status.h"
#include "casemate/encoder/checkpoint.h"
#include "casemate/encoder/heads.h"

namespace casemate {

/// The longest input by options and model. Error: InvalidOption, naming field, value and range.
[[nodiscard]] inline Result<std::size_t> head_token_limit(const HeadOptions& options, const ModelConfig& config) {
  const int limit = options.max_tokens == 0 ? config.max_positions : options.max_tokens;
  if (limit < 8 || limit > config.max_positions) {
    return Error{ErrorCode::kInvalidOption,
                 "max_tokens = " + std::to_string(limit) + " is outside 8 to " + std::to_string(config.max_positions)};
  }
  if (options.stride < 0 || options.stride > 10000)
    return Error{ErrorCode::kInvalidOption, "stride must be in 0 to 10000"};
  if (options.max_answer_tokens < 1 || options.max_answer_tokens > 1000) {
    return Error{ErrorCode::kInvalidOption, "max_answer_tokens must be in 1 to 1000"};
  }
  return static_cast<std::size_t>(limit);
}

}  // namespace casemate
