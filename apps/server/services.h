// What route groups get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine.h"
#include "fields.h"
#include "log.h"
#include "metrics.h"
#include "router.h"
#include "work_queue.h"

namespace casemate::server {

class AuditLog;
class Ingestor;

/// Bounds of one request.
struct Limits {
  std::uint64_t max_body_bytes = std::uint64_t{8} << 20U;
  std::uint64_t max_upload_bytes = std::uint64_t{64} << 20U;  ///< of POST /v1/documents
  std::size_t max_documents = 10'000;                         ///< of one upload
  std::size_t max_question_bytes = 16 * 1024;                 ///< and so at most that many tokens
  std::size_t max_passage_bytes = 256 * 1024;
  std::size_t max_candidates = 1000;  ///< of /v1/screen
  std::size_t max_passages = 100;     ///< of /v1/answer
  std::size_t max_inputs = 256;       ///< of /v1/embeddings
  int max_top_k = 100;                ///< in [1, 1000]
};

/// Not owned: all of it outlives the routes.
struct Services {
  Engine& engine;
  Metrics& metrics;
  Log& log;
  Limits limits;
  Role scores_for = Role::kWriter;  ///< the least role that is shown raw scores
  AuditLog* audit = nullptr;        ///< null: none is kept
  Ingestor* ingestor = nullptr;     ///< null: documents cannot be changed
  std::function<bool()> draining;
  std::function<Metrics::Queue(std::string_view name)> queue;
  bool system_messages = true;  ///< used as the operator's style, within a fixed frame
};

/// One function a route group (routes/NAME.cpp). `services` must outlive the router.
void add_health_routes(Router& router, const Services& services);
void add_docs_routes(Router& router);
void add_retrieve_routes(Router& router, const Services& services);
void add_chat_routes(Router& router, const Services& services);
void add_model_routes(Router& router, const Services& services);
void add_answer_routes(Router& router, const Services& services);
void add_screen_routes(Router& router, const Services& services);
void add_verify_routes(Router& router, const Services& services);
void add_document_routes(Router& router, const Services& services);
void add_policy_routes(Router& router, const Services& services);
void add_all_routes(Router& router, const Services& services);

/// What groups share.

/// True where `caller` may see raw scores.
[[nodiscard]] bool sees_scores(const Services& services, const Caller& caller);
/// Takes scores, thresholds, probabilities and the figures in reasons out of evidence or hits.
void hide_scores(Json& value);
/// Reads {any_of, all_of, none_of} at `name` and joins it with what the caller may see: a caller with labels asks for
/// some of them, and a label that is not the caller's lets nothing through.
void read_filter(Fields& fields, std::string_view name, const Caller& caller, DocumentFilter& out);
/// Leaves the file names alone of the paths at which hits lie: whoever asks over HTTP has no use for the server's
/// folders.
void hide_folders(Json& value);
/// For `error` that is the server's own fault: the log gets what the client does not, the store's folder among it.
[[nodiscard]] Response failed(const Services& services, const Exchange& exchange, const Error& error);
[[nodiscard]] Response json_response(const Json& body, unsigned status = 200);

}  // namespace casemate::server
