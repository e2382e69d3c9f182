#include "apps/server/server.h"

#include <algorithm>
#include <iostream>
#include <span>

#include "apps/server/audit_log.h"
#include "apps/server/disclosure_budget.h"
#include "apps/server/ingestor.h"
#include "apps/server/services.h"
#include "apps/server/spans.h"
#include "casemate/core/untrusted_text.h"
#include "command.h"
#include "environment.h"
#include "serve_options.h"
#include "serve_reload.h"

namespace casemate::cli {
namespace {

Result<std::vector<Policy>> chosen_policies(const ServeChoice& choice) {
  std::vector<Policy> out;
  for (const std::string& name : choice.may_fail) {
    const auto entry = find_defence(name);
    if (!entry) return entry.error().in("--fail-open");
    if ((*entry)->scans)
      return Error{ErrorCode::kInvalidOption,
                   "--fail-open " + name + ": it finds the passages, so nothing goes on without it"};
  }
  for (const std::string& name : choice.policies) {
    auto policy = find_policy(name);
    if (!policy) return policy.error();
    for (const std::string& text : choice.defences) {
      const auto defence = parse_defence(text);
      if (!defence) return defence.error();
      policy->defences.push_back(*defence);
    }
    if (Status chosen = choose_protection(choice.sanitize, choice.guard, *policy); !chosen) return chosen.error();
    if (Status chosen = choose_candidates(choice.candidates, *policy); !chosen) return chosen.error();
    // Those of the names that this policy has.
    for (const DefenceChoice& defence : policy->defences) {
      if (std::find(choice.may_fail.begin(), choice.may_fail.end(), defence.name) != choice.may_fail.end())
        policy->may_fail.push_back(defence.name);
    }
    out.push_back(*std::move(policy));
  }
  return out;
}

/// The encoder of the store; without a store one that is named, or the default where it is here.
Result<std::unique_ptr<Encoder>> serve_encoder(Context& context, const ServeChoice& choice, const Store* store) {
  if (store != nullptr) return context.load_encoder_of(*store, choice.encoder);
  EncoderChoice encoder;
  encoder.encoder = choice.encoder;
  auto loaded = context.load_encoder(encoder);
  const bool absent =
      !loaded && (loaded.error().code == ErrorCode::kNotFound || loaded.error().code == ErrorCode::kUnavailable);
  if (absent && choice.encoder.empty()) return std::unique_ptr<Encoder>();
  return loaded;
}

Result<std::unique_ptr<server::Engine>> open_engine(Context& context, const ServeChoice& choice) {
  auto policies = chosen_policies(choice);
  if (!policies) return policies.error();
  server::EngineParts parts;
  parts.pool = &context.pool();
  if (!choice.store.empty()) {
    auto store = context.open_store(choice.store, true);
    if (!store) return store.error();
    parts.store = *std::move(store);
  }
  auto encoder = serve_encoder(context, choice, parts.store.get());
  if (!encoder) return encoder.error();
  parts.encoder = *std::move(encoder);
  if (!choice.no_model) {
    auto model = load_language_model(context, choice.model);
    if (!model) return model.error();
    parts.model = *std::move(model);
    const bool sanitizes =
        std::any_of(policies->begin(), policies->end(), [](const Policy& each) { return each.sanitize.has_value(); });
    if (sanitizes) {
      auto backbone = load_keyword_model(context, "");
      if (!backbone) return backbone.error();
      parts.backbone = *std::move(backbone);
    }
  }
  if (!choice.reranker.empty()) {
    auto reranker = load_reranker(choice.reranker, {}, context.pool());
    if (!reranker) return reranker.error();
    parts.reranker = *std::move(reranker);
  }
  if (!choice.sign_with.empty()) {
    auto key = SigningKey::load(choice.sign_with);
    if (!key) return key.error();
    parts.key = std::make_unique<SigningKey>(*key);
  }
  auto states = PassageStates::create({.folder = choice.states_folder});
  if (!states) return states.error();
  parts.states = *std::move(states);
  return server::Engine::create(std::move(parts), *std::move(policies));
}

Result<std::unique_ptr<server::KeyStore>> open_keys(const ServeChoice& choice) {
  if (choice.keys.empty() && choice.store.empty()) return std::unique_ptr<server::KeyStore>();
  return server::KeyStore::open(choice.keys.empty() ? join_path(choice.store, server::kKeyFile) : choice.keys);
}

/// A server that other machines reach needs keys before it listens.
Status check_exposure(const ServeChoice& choice, const server::KeyStore* keys) {
  const auto loopback = server::is_loopback(choice.server.address);
  if (!loopback) return loopback.error();
  if (*loopback) return {};
  const auto in_use = keys == nullptr ? Result<bool>(false) : keys->in_use();
  if (!in_use) return in_use.error();
  if (*in_use) return {};
  return Error{
      ErrorCode::kInvalidOption,
      "listening on " + choice.server.address +
          " lets other machines in, and there are no keys: make one with casemate keys add NAME --store STORE"};
}

Result<std::unique_ptr<server::AuditLog>> open_audit(const ServeChoice& choice, const server::Engine& engine) {
  if (choice.audit.empty()) return std::unique_ptr<server::AuditLog>();
  server::AuditOptions options;
  options.path = choice.audit;
  options.keep_queries = choice.audit_queries;
  options.head_interval_s = choice.audit_head_seconds;
  if (choice.audit_key.empty()) return server::AuditLog::open(options, engine.key());
  const auto key = SigningKey::load(choice.audit_key);
  if (!key) return key.error();
  return server::AuditLog::open(options, *key);
}

/// In a file, so that a restart does not give readers a new budget. None where no policy counts one.
Result<std::unique_ptr<server::DisclosureBudget>> open_disclosures(const ServeChoice& choice,
                                                                   std::span<const Policy> policies, server::Log& log) {
  if (!choice.disclosures.empty()) return server::DisclosureBudget::open(choice.disclosures);
  if (std::none_of(policies.begin(), policies.end(), protects_passages)) {
    return std::unique_ptr<server::DisclosureBudget>();
  }
  if (choice.store.empty()) return server::DisclosureBudget::open(":memory:");
  auto kept = server::DisclosureBudget::open(join_path(choice.store, server::kDisclosureFile));
  if (kept) return kept;
  log.write(server::LogLevel::kWarning, "disclosures_not_kept",
            {{"what", UntrustedText(kept.error().message).for_log(500)},
             {"means", "a restart gives readers a new budget; name another file with --disclosures"}});
  return server::DisclosureBudget::open(":memory:");
}

/// What SIGHUP changes, and what it is compared with.
struct Running {
  ServeSection at_start;
  Reloadable now;
  server::Engine& engine;
  server::LiveSettings& settings;
  server::Gate& gate;
  server::Log& log;
  server::Server* server = nullptr;
};

/// What SIGHUP does. Whatever is wrong leaves things as they are.
void reload(const ServeChoice& choice, Running& running) {
  const auto section = read_serve_section(choice.config_file);
  auto found = section ? reload_from(*section, running.at_start, running.now, Reloadable{}, choice.given)
                       : Result<Reload>(section.error());
  if (found && !found->now.policy.empty()) {
    if (Status set = running.engine.reset_default_policy(found->now.policy); !set) found = set.error();
  }
  if (!found) {
    running.log.write(server::LogLevel::kError, "reload_failed",
                      {{"what", UntrustedText(found.error().message).for_log(500)}});
    return;
  }
  running.now = found->now;
  running.settings.set(running.now.settings);
  running.gate.set_rate(running.now.requests_per_minute);
  running.server->set_timeouts(running.now.timeouts);
  running.log.set_level(running.now.log_requests ? server::LogLevel::kInfo : server::LogLevel::kWarning);
  running.log.write(
      server::LogLevel::kWarning, "reloaded",
      {{"policy", running.now.policy}, {"changed", found->changed}, {"needs_restart", found->needs_restart}});
}

Status serve(Context& context, ServeChoice& choice) {
  const auto scores_for = server::parse_role(choice.scores_for);
  if (!scores_for) return scores_for.error();
  const auto keys = open_keys(choice);
  if (!keys) return keys.error();
  if (Status safe = check_exposure(choice, keys->get()); !safe) return safe;
  const auto engine = open_engine(context, choice);
  if (!engine) return engine.error();
  const auto audit = open_audit(choice, **engine);
  if (!audit) return audit.error();
  server::Log log(std::cerr, choice.verbose ? server::LogLevel::kInfo : server::LogLevel::kWarning);
  server::Metrics metrics;
  const bool writes = !choice.read_only && !choice.store.empty();
  std::unique_ptr<server::Ingestor> ingestor;
  if (writes) {
    server::IngestorOptions options;
    options.store = choice.store;
    ingestor = std::make_unique<server::Ingestor>(options, **engine, metrics, log);
  }
  const int threads = choice.query_threads > 0 ? choice.query_threads : ThreadPool::available_cores();
  server::WorkQueue queries(threads, static_cast<std::size_t>(choice.query_queue));
  server::WorkQueue answers(choice.model_requests, static_cast<std::size_t>(choice.model_queue));
  server::Server* listening = nullptr;
  Reloadable now{{choice.limits, *scores_for, !choice.no_system_messages},
                 choice.server,
                 choice.gate.requests_per_minute,
                 choice.verbose,
                 {}};
  server::LiveSettings settings(now.settings);
  std::unique_ptr<server::SpanExporter> spans;
  if (!choice.spans.empty()) {
    server::SpanOptions options;
    options.endpoint = choice.spans;
    auto exporter = server::SpanExporter::create(options, metrics);
    if (!exporter) return exporter.error().in("--otlp-endpoint");
    spans = *std::move(exporter);
  }
  server::Services services{**engine, metrics, log, settings, audit->get(), ingestor.get(), {}, {}, spans.get()};
  const auto disclosures = open_disclosures(choice, (*engine)->policies(), log);
  if (!disclosures) return disclosures.error();
  services.disclosures = disclosures->get();
  services.draining = [&listening] { return listening != nullptr && listening->draining(); };
  services.queue = [&](std::string_view name) {
    const server::WorkQueue& queue = name == "model" ? answers : queries;
    return server::Metrics::Queue{static_cast<double>(queue.waiting()), static_cast<double>(queue.running())};
  };
  server::Router router;
  server::add_all_routes(router, services);
  choice.gate.loopback = *server::is_loopback(choice.server.address);
  server::Gate gate(keys->get(), choice.gate);
  const auto made = server::Server::create(choice.server, router, gate, {queries, answers}, metrics, log);
  if (!made) return made.error();
  listening = made->get();
  // Without a file, or with one that has no such section, SIGHUP has nothing to compare with.
  auto section = read_serve_section(choice.config_file);
  Running running{section ? *std::move(section) : ServeSection{}, now, **engine, settings, gate, log, listening};
  (*made)->on_reload([&choice, &running] { reload(choice, running); });
  if (spans != nullptr) (*made)->export_spans(*spans);
  context.say("casemate: serving on http://" + choice.server.address + ":" + std::to_string((*made)->port()) +
              " (GET /docs describes it)");
  (*made)->run(context.stop);
  return {};
}

}  // namespace

std::function<int()> set_up_serve(CLI::App& app, Context& context) {
  auto choice = std::make_shared<ServeChoice>();
  add_serve_options(app, *choice);
  return [choice, &app, &context] {
    const CLI::Option* config = app.get_parent()->get_option("--config");
    choice->config_file = config->empty() ? environment_variable("CASEMATE_CONFIG") : config->as<std::string>();
    choice->given = given_options(app);
    if (Status served = serve(context, *choice); !served) return context.fail(served.error());
    return kDone;
  };
}

}  // namespace casemate::cli
