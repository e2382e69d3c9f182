// apps/casemate/command.h
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

#include "context.h"

namespace casemate::cli {

/// One command of the program. `set_up` declares its options on `app` and gives back what to run once they are parsed;
/// that returns the exit code.
struct Command {
  const char* name;
  const char* summary;
  std::function<int()> (*set_up)(CLI::App& app, Context& context);
};

/// Every command, in the order of --help (commands.cpp).
[[nodiscard]] std::span<const Command> commands();

std::function<int()> set_up_ask(CLI::App& app, Context& context);
std::function<int()> set_up_attack(CLI::App& app, Context& context);
std::function<int()> set_up_audit(CLI::App& app, Context& context);
std::function<int()> set_up_backup(CLI::App& app, Context& context);
std::function<int()> set_up_check(CLI::App& app, Context& context);
std::function<int()> set_up_compact(CLI::App& app, Context& context);
std::function<int()> set_up_delete(CLI::App& app, Context& context);
std::function<int()> set_up_doctor(CLI::App& app, Context& context);
std::function<int()> set_up_documents(CLI::App& app, Context& context);
std::function<int()> set_up_embed(CLI::App& app, Context& context);
std::function<int()> set_up_eval(CLI::App& app, Context& context);
std::function<int()> set_up_index(CLI::App& app, Context& context);
std::function<int()> set_up_keys(CLI::App& app, Context& context);
std::function<int()> set_up_keywords(CLI::App& app, Context& context);
std::function<int()> set_up_recall(CLI::App& app, Context& context);
std::function<int()> set_up_metrics(CLI::App& app, Context& context);
std::function<int()> set_up_migrate(CLI::App& app, Context& context);
std::function<int()> set_up_models(CLI::App& app, Context& context);
std::function<int()> set_up_calibrate(CLI::App& app, Context& context);
std::function<int()> set_up_policies(CLI::App& app, Context& context);
std::function<int()> set_up_prepare(CLI::App& app, Context& context);
std::function<int()> set_up_redteam(CLI::App& app, Context& context);
std::function<int()> set_up_report(CLI::App& app, Context& context);
std::function<int()> set_up_restore(CLI::App& app, Context& context);
std::function<int()> set_up_seal(CLI::App& app, Context& context);
std::function<int()> set_up_search(CLI::App& app, Context& context);
std::function<int()> set_up_serve(CLI::App& app, Context& context);
std::function<int()> set_up_theory(CLI::App& app, Context& context);
std::function<int()> set_up_certify(CLI::App& app, Context& context);
std::function<int()> set_up_verify(CLI::App& app, Context& context);

}  // namespace casemate::cli
