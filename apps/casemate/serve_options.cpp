#include "serve_options.h"

#include "defaults.h"
#include "environment.h"

namespace casemate::cli {
namespace {

void add_limits(CLI::App& app, ServeChoice& choice) {
  server::ServerOptions& server = choice.server;
  const auto number = [&app](const char* name, int& out, int low, int high, const char* text) {
    app.add_option(name, out, text)->check(CLI::Range(low, high))->capture_default_str();
  };
  number("--max-connections", server.max_connections, 1, 65536, "open at once; further ones get 503");
  number("--idle-timeout-ms", server.idle_timeout_ms, 10, 3'600'000, "between the requests of a connection");
  number("--header-timeout-ms", server.header_timeout_ms, 10, 3'600'000, "for the head of a request");
  number("--body-timeout-ms", server.body_timeout_ms, 10, 3'600'000, "for the body of a request");
  number("--write-timeout-ms", server.write_timeout_ms, 10, 3'600'000, "for a piece of an answer");
  number("--request-timeout-ms", server.request_timeout_ms, 10, 3'600'000, "for the work of a request; then 504");
  number("--drain-timeout-ms", server.drain_timeout_ms, 0, 3'600'000, "for requests under way at the end");
  number("--query-threads", choice.query_threads, 0, 256, "retrievals at the same time; 0: as many as cores");
  number("--query-queue", choice.query_queue, 1, 100'000, "retrievals that may wait; further ones get 503");
  number("--model-requests", choice.model_requests, 1, 64,
         "answers at the same time: a model in this process takes their tokens together, a remote one as it can");
  number("--model-queue", choice.model_queue, 1, 100'000, "answers that may wait for the model; further ones get 503");
  number("--requests-per-minute", choice.gate.requests_per_minute, 0, 1'000'000,
         "of one key; 0: no limit; over it 429");
  number("--max-top-k", choice.limits.max_top_k, 1, 1000, "largest top_k");
  app.add_option("--max-body-bytes", choice.limits.max_body_bytes, "largest body; over it 413")->capture_default_str();
  app.add_option("--max-upload-bytes", choice.limits.max_upload_bytes, "largest body with documents")
      ->capture_default_str();
  app.add_option("--max-documents", choice.limits.max_documents, "documents of one upload")->capture_default_str();
  app.add_option("--max-question-bytes", choice.limits.max_question_bytes, "longest question; over it 413")
      ->capture_default_str();
  app.add_option("--max-question-tokens", choice.limits.max_question_tokens,
                 "the same in tokens of the language model, else of the encoder; 0: bytes alone")
      ->capture_default_str();
}

}  // namespace

void add_serve_options(CLI::App& app, ServeChoice& choice) {
  app.add_option("store", choice.store,
                 "the store's folder; without one the server screens, answers from given passages and verifies");
  app.add_option("--address", choice.server.address,
                 "IP address to listen on; one that other machines reach needs keys (casemate keys)")
      ->capture_default_str();
  app.add_option("--port", choice.server.port, "0: any that is free")->capture_default_str();
  app.add_option("--policy", choice.policies, "policies that requests may name, the default first")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--defence", choice.defences,
                 "a defence besides each policy's, as NAME or 'NAME{option: value, ...}'");
  app.add_option("--fail-open", choice.may_fail,
                 "a defence that queries go on without where it cannot run (its model is missing or does not answer), "
                 "which answers and metrics tell; default: they are refused. May be given again");
  app.add_option("--encoder", choice.encoder, "where the store's encoder lies, if not where the store remembers");
  app.add_option("--sanitize", choice.sanitize,
                 "what the model reads instead of passages, in place of each policy's (casemate policies --sanitizers "
                 "lists them); readers then see no passages; none: the passages");
  app.add_option("--guard", choice.guard,
                 "watch answers for passages and canaries, in place of each policy's: stop, redact or facts; none");
  app.add_option("--reranker", choice.reranker, "folder of a SequenceClassification model");
  add_candidate_options(app, choice.candidates);
  add_language_model_options(app, choice.model);
  app.add_flag("--no-model", choice.no_model, "load no language model: retrieval and screening only");
  app.add_flag("--no-system-messages", choice.no_system_messages,
               "chats' system messages change nothing; else they say how answers are worded, within a fixed frame");
  app.add_flag("--read-only", choice.read_only, "documents cannot be added or removed over HTTP");
  app.add_option("--keys", choice.keys, "file with the keys; default: keys.db in the store");
  app.add_option("--tenant", choice.gate.local_tenant, "whose documents are served where no key is needed")
      ->capture_default_str();
  app.add_option("--scores-for", choice.scores_for, "least role that is shown raw scores: reader, writer or admin")
      ->capture_default_str();
  app.add_option("--audit", choice.audit, "file that records what was asked, as a chain of hashes");
  app.add_flag("--audit-queries", choice.audit_queries, "record the text of questions too, not only hashes");
  app.add_option("--audit-head-seconds", choice.audit_head_seconds,
                 "a record is under a signed head after so long at the latest")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--disclosures", choice.disclosures,
                 "file that keeps how much of each document each reader was shown today; default: disclosed.db in the "
                 "store");
  app.add_option("--otlp-endpoint", choice.spans,
                 "address of an OpenTelemetry collector that gets a span for each request, as "
                 "http://127.0.0.1:4318/v1/traces; default: none");
  app.add_option("--audit-key", choice.audit_key, "secret key that signs the audit's heads; default: as --sign-with");
  app.add_option("--sign-with", choice.sign_with, "secret key for certificates; default: a new one that is not kept");
  app.add_option("--passage-states", choice.states_folder, "folder that keeps what the model read of each passage");
  app.add_flag("--log-requests", choice.verbose, "a line of JSON for each request on standard error");
  add_limits(app, choice);
}

std::set<std::string> given_options(const CLI::App& app) {
  std::set<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (option->count() > 0 || !environment_variable(variable_name(name).c_str()).empty()) out.insert(name);
  }
  return out;
}

}  // namespace casemate::cli
