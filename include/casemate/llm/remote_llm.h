// casemate/llm/remote_llm.h
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "casemate/core/clock.h"
#include "casemate/llm/language_model.h"

namespace casemate {

struct RemoteLlmOptions {
  std::string base_url;            ///< "https://host[:port][/path]", without "/chat/completions"; often ends in "/v1"
  std::string model;               ///< the server's name for the model; not empty
  std::string name;                ///< for people; empty: `model`
  std::string api_key;             ///< sent as a bearer token; never in errors; empty: none is sent
  int connect_timeout_ms = 10000;  ///< [1, 600000]; name look-up, connecting and TLS
  int idle_timeout_ms = 60000;     ///< [1, 3600000]; longest wait for the next bytes of a reply
  int total_timeout_ms = 300000;   ///< [1, 3600000]; one call with all its retries
  int max_retries = 3;             ///< [0, 20]; after 408, 429, 500, 502, 503, 504 or a failed connection
  int retry_base_ms = 500;         ///< [1, 60000]; doubles with each retry, times a random factor in [0.5, 1]
  int retry_limit_ms = 30000;      ///< [1, 600000]; longest wait before a retry; a longer Retry-After gives up
  std::uint64_t max_response_bytes = 16U << 20U;  ///< [1024, 2^32]
  bool verify_tls = true;          ///< false accepts any certificate: for tests on one's own machine only
  std::string ca_file;             ///< PEM certificates to trust; empty: the system's
  std::size_t context_tokens = 0;  ///< what the server's model holds; 0: unknown
  std::uint64_t retry_seed = 0;    ///< of the random factor
};

/// A model behind the OpenAI protocol (llama-server, vLLM, Ollama, hosted): /chat/completions for chat prompts,
/// /completions for plain ones. `on_text` makes it stream. No connection is made before the first call.
///
/// Capabilities: top-n log-probabilities (n <= 20, truncated: the rest of the mass is not known). No tokens, grammar,
/// full log-probabilities, attention, batches. Output is as deterministic as the server.
/// Special strings in untrusted text are made harmless visibly and listed in Generation::neutralised, because servers
/// parse them.
///
/// Errors of `generate` besides those of LanguageModel: Unavailable (no connection, server errors after all retries),
/// Timeout, Limit (reply too large, prompt too large), Permission (401, 403), NotFound (404), Model (other 4xx, and
/// replies that are not the protocol's), InvalidInput (no HTTP). Text of the server in an error is escaped, cut, and
/// free of the key. A stream that breaks after text was given out is an error and not retried.
///
/// Error of create: InvalidOption. `clock` must outlive the model.
[[nodiscard]] Result<std::unique_ptr<LanguageModel>> create_remote_llm(const RemoteLlmOptions& options,
                                                                       const Clock& clock = Clock::system());

}  // namespace casemate
