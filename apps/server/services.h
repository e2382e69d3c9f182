// What route groups get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine.h"
#include "fields.h"
#include "log.h"
#include "metrics.h"
#include "router.h"
#include "settings.h"
#include "work_queue.h"

namespace casemate::server {

class AuditLog;
class DisclosureBudget;
class Ingestor;
class SpanExporter;

/// Not owned: all of it outlives the routes.
struct Services {
  Engine& engine;
  Metrics& metrics;
  Log& log;
  const LiveSettings& live;
  AuditLog* audit = nullptr;     ///< null: none is kept
  Ingestor* ingestor = nullptr;  ///< null: documents cannot be changed
  std::function<bool()> draining;
  std::function<Metrics::Queue(std::string_view name)> queue;
  SpanExporter* spans = nullptr;            ///< null: nobody collects them
  DisclosureBudget* disclosures = nullptr;  ///< of readers of protected passages; null: they are shown nothing

  [[nodiscard]] Limits limits() const { return live.get().limits; }
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
/// 413 where the question has more tokens than it may, by the language model's count, else the encoder's; nothing where
/// neither is there. Errors of the model are told by what comes after.
[[nodiscard]] std::optional<ApiError> check_question_tokens(const Services& services, std::string_view question,
                                                            std::string_view field);
/// Leaves the file names alone of the paths at which hits lie, and STORE in place of the store's folder in what
/// evidence says: whoever asks over HTTP has no use for the server's folders.
void hide_folders(const Services& services, Json& value);
/// For `error` that is the server's own fault: the log gets what the client does not, the store's folder among it. A
/// message of a stage is filtered as evidence is: no figures for callers who see no scores, and nothing but its code
/// for readers whose policy protects passages, which it could quote.
[[nodiscard]] Response failed(const Services& services, const Exchange& exchange, const Error& error);
[[nodiscard]] Response json_response(const Json& body, unsigned status = 200);

}  // namespace casemate::server
