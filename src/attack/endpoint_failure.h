// How a request to a system under test failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/status.h"
#include "net/http_client.h"

namespace casemate {

/// How one attempt failed, and whether another may do better.
struct EndpointFailure {
  Error error;
  bool may_retry = false;
  bool is_unclear = false;                        ///< the system may have done what was asked
  std::optional<std::chrono::milliseconds> wait;  ///< what the server asks for
};

/// `text` with the values of the adapter's variables replaced by their names.
[[nodiscard]] std::string without_secrets(std::string text, const EndpointAdapter& adapter);

/// What a reply with a status other than 2xx means.
[[nodiscard]] EndpointFailure refusal(const HttpResponse& response, const EndpointAdapter& adapter);

}  // namespace casemate
