// apps/casemate/serve_options.h
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "apps/server/gate.h"
#include "apps/server/server.h"
#include "apps/server/settings.h"
#include "language_model_choice.h"
#include "open_pipeline.h"

namespace casemate::cli {

/// What `casemate serve` is told.
struct ServeChoice {
  std::string store;
  std::string config_file;  ///< the one that options got their defaults from
  std::vector<std::string> policies = {"off"};
  std::vector<std::string> defences;
  std::string sanitize;  ///< in place of each policy's; "none": none
  std::string guard;     ///< in place of each policy's; "none": none
  std::vector<std::string> may_fail;
  std::string encoder;
  std::string reranker;
  std::string states_folder;
  std::string sign_with;
  std::string keys;
  std::string scores_for = "writer";
  std::string audit;
  std::string disclosures;
  std::string audit_key;
  bool audit_queries = false;
  bool no_model = false;
  bool read_only = false;
  bool no_system_messages = false;
  bool verbose = false;
  int query_threads = 0;
  int query_queue = 256;
  int model_queue = 32;
  int model_requests = 4;
  int audit_head_seconds = 60;
  std::string spans;            ///< the collector's address; empty: none
  std::set<std::string> given;  ///< options of the command line, which no configuration changes
  CandidateChoice candidates;   ///< in place of each policy's
  LanguageModelChoice model;
  server::ServerOptions server;
  server::GateOptions gate;
  server::Limits limits;
};

void add_serve_options(CLI::App& app, ServeChoice& choice);

/// Names of the options that the command line or the environment gave, once they are parsed.
[[nodiscard]] std::set<std::string> given_options(const CLI::App& app);

}  // namespace casemate::cli
