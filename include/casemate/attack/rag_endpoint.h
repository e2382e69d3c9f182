// casemate/attack/rag_endpoint.h
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/yaml_options.h"

namespace casemate {

/// What a system under test said to a question.
struct EndpointAnswer {
  UntrustedText text;
  bool cut_short = false;                             ///< it says itself that the answer ended at a limit
  std::optional<std::vector<std::string>> retrieved;  ///< ids of documents, best first; unset where it does not tell
};

/// What a system said to an addition.
struct EndpointAddition {
  std::string id;   ///< that the system knows the document by: ours, or its own
  std::string job;  ///< that stores it; empty: it is there already
};

/// What a system said to a removal.
struct EndpointRemoval {
  enum class End : std::uint8_t {
    kRemoved,   ///< it is gone
    kNotThere,  ///< 404 or 410: it is gone, was never there, or the request asks at the wrong place
    kFailed,    ///< it was not taken away
    kUnknown,   ///< the request went out, but no reply says what it did
  };
  End end = End::kFailed;
  Error error;  ///< names the request; of no meaning where it is gone
};

/// A RAG system from outside: questions go in, answers come out, documents can be added and taken away. One thread at a
/// time. Errors of its calls name the request. InvalidInput and Limit concern this one request (refused, no JSON, too
/// large); others (Unavailable, Timeout, Permission, NotFound, Cancelled) would meet the next one, too.
class RagEndpoint {
 public:
  virtual ~RagEndpoint() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Identifies how questions are asked and documents are added: answers of endpoints that differ in it cannot be
  /// compared. Neither secrets, limits nor ways to take documents away are in it.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// Adds a document; adding the same id again replaces. Where the system gives ids, it is not sent again unless the
  /// system has said that it was not added: there would be two.
  [[nodiscard]] virtual Result<EndpointAddition> add(const std::string& id, const UntrustedText& title,
                                                     const UntrustedText& text, const std::stop_token& stop) = 0;
  /// Waits until the job of an addition has ended. True: done; false: it failed, says the system. Error: NotFound for
  /// a job that the system does not know; Timeout.
  [[nodiscard]] virtual Result<bool> wait_for(const std::string& job, const std::stop_token& stop) = 0;
  /// Waits until what was added can be found.
  [[nodiscard]] virtual Status settle(const std::stop_token& stop) = 0;
  /// True where jobs store what is added: an addition that was not answered may still come.
  [[nodiscard]] virtual bool stores_by_jobs() const noexcept = 0;
  /// True where `add` returns an id of the system's own: what was sent, but not answered, cannot be found again.
  [[nodiscard]] virtual bool chooses_ids() const noexcept = 0;
  /// True where documents go one by one, false where only `reset` takes them away.
  [[nodiscard]] virtual bool removes_one() const noexcept = 0;
  /// Takes a document away. Unsupported without `removes_one`.
  [[nodiscard]] virtual EndpointRemoval remove(const std::string& id, const std::stop_token& stop) = 0;
  /// Takes away all that was added. Unsupported where the adapter has no such request.
  [[nodiscard]] virtual Status reset(const std::stop_token& stop) = 0;
  [[nodiscard]] virtual Result<EndpointAnswer> ask(const UntrustedText& question, const std::stop_token& stop) = 0;
};

/// A request with places to fill: {{id}}, {{title}}, {{text}}, {{question}}, {{job}} in the path (written as one
/// segment of an address) and in texts of the JSON body (escaped as JSON; what is filled in is not looked at again).
struct EndpointRequest {
  std::string method = "POST";
  std::string path;
  std::string body;  ///< JSON; empty: none
};

/// How to talk to a system, read from a YAML file (docs/attacks.md, examples/redteam/). Places in replies are JSON
/// pointers in which a segment "*" stands for each element of a list.
struct EndpointAdapter {
  std::string name = "endpoint";
  std::vector<std::pair<std::string, std::string>> headers;  ///< of every request, with secrets filled in
  std::vector<std::pair<std::string, std::string>> secrets;  ///< variable and value: taken out of every message

  EndpointRequest add;
  std::string add_id;   ///< where the reply says which id it gave; empty: the system takes ours
  std::string add_job;  ///< where the reply names a job to wait for; empty: none
  std::optional<EndpointRequest> job;
  std::string job_state;
  std::vector<std::string> job_done = {"done"};
  std::vector<std::string> job_failed = {"failed"};
  int settle_ms = 0;  ///< wait after planting; in [0, 600000]

  std::optional<EndpointRequest> remove;
  std::optional<EndpointRequest> reset;

  EndpointRequest ask;
  std::string answer;
  std::string finish;                               ///< where the reply says why the answer ended; empty: nowhere
  std::vector<std::string> cut_short = {"length"};  ///< values there that mean a limit
  std::string sources;                              ///< ids of the documents behind the answer; empty: not told
  std::optional<EndpointRequest> retrieve;          ///< asked beside `ask` where given, and then counted instead
  std::string retrieved;

  int timeout_ms = 120'000;                            ///< of a request; in [100, 3600000]
  std::uint64_t max_reply_bytes = UINT64_C(4) << 20U;  ///< in [1024, 1 GiB]
  int max_retries = 4;                                 ///< after 408, 425, 429, 5xx and lost connections; in [0, 20]
  int retry_limit_ms = 60'000;                         ///< longest wait before one, Retry-After too; in [0, 3600000]
  std::string ca_file;                                 ///< PEM to trust; empty: the system's
};

/// The value of an environment variable; nothing where it is not set.
using FindVariable = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads an adapter. ${NAME} in headers is what `variable` gives. Error: InvalidInput and InvalidOption with file, line
/// and field: unknown fields and places, bodies that are no JSON, variables that are not set, header values with line
/// ends, no way to take documents away.
[[nodiscard]] Result<EndpointAdapter> read_endpoint_adapter(const YamlValue& root, const FindVariable& variable);

/// Talks to the system at `url` (http or https, with the part of the path that all requests share). Redirects are not
/// followed: the error says where they lead. Error: InvalidOption for no such address.
[[nodiscard]] Result<std::unique_ptr<RagEndpoint>> connect_endpoint(const std::string& url,
                                                                    const EndpointAdapter& adapter);

}  // namespace casemate
