// Errors as clients see them: OpenAI's error object, and the one place that knows which HTTP status an error is.
#pragma once

#include <string>

#include "casemate/core/status.h"
#include "message.h"

namespace casemate::server {

struct ApiError {
  unsigned status = 400;
  std::string type = "invalid_request_error";
  std::string code;  ///< for programs: "InvalidArgument", "model_not_found"
  std::string message;
  std::string param{};  ///< the field that is wrong; empty: none
};

/// What a client is told. Errors that are not its own fault keep their details (paths, say) for the log.
[[nodiscard]] ApiError api_error(const Error& error);
/// {"error": {message, type, param, code}} as one line.
[[nodiscard]] std::string error_json(const ApiError& error);
[[nodiscard]] Response error_response(const ApiError& error);
[[nodiscard]] Response error_response(const Error& error);

[[nodiscard]] ApiError not_found(std::string message);
[[nodiscard]] ApiError too_large(std::string message);
/// 503 with Retry-After: the server cannot now, and may in a moment.
[[nodiscard]] ApiError overloaded(std::string message);

}  // namespace casemate::server
