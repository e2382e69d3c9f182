// The command line: finds the command, gives options their defaults, runs it.
#include <iostream>

#include "command.h"
#include "defaults.h"
#include "environment.h"
#include "interrupt.h"
#include "usage_error.h"
#include "version.h"

namespace casemate::cli {
namespace {

std::string default_cache_folder() {
  const std::string cache = environment_variable("XDG_CACHE_HOME");
  return (cache.empty() ? environment_variable("HOME") + "/.cache" : cache) + "/casemate";
}

/// --config has to be known before the other options get their defaults.
std::string find_config(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument.starts_with("--config=")) return std::string(argument.substr(9));
    if (argument == "--config" && i + 1 < argc) return argv[i + 1];
  }
  return environment_variable("CASEMATE_CONFIG");
}

void add_global_options(CLI::App& app, Context& context) {
  app.add_flag("--json", context.json, "results as JSON on standard output");
  app.add_flag("-q,--quiet", context.quiet, "no progress, no remarks");
  app.add_option("--threads", context.threads, "threads to use, never more than cores; 0: all")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--models-folder", context.models_folder, "where models lie (default: <cache>/models)");
  app.add_option("--manifest", context.manifest_file, "another model manifest than the built-in one");
  static std::string config;
  app.add_option("--config", config, "YAML file with defaults for all options (also: CASEMATE_CONFIG)");
}

int run(int argc, char** argv) {
  const Interrupt interrupt;
  Context context;
  context.stop = interrupt.token();
  context.cache_folder = default_cache_folder();
  CLI::App app(
      "Casemate: retrieval-augmented generation that stays right when its documents are hostile.\n"
      "Exit codes: 0 done, 1 the answer is no, 2 wrong use or bad input, 3 something outside failed, 130 stopped.",
      "casemate");
  app.set_version_flag("--version", std::string("casemate ") + kVersion);
  app.fallthrough();  // global options may stand after the command
  app.require_subcommand(1);
  add_global_options(app, context);
  std::vector<std::pair<CLI::App*, std::function<int()>>> runs;
  for (const Command& command : commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs.emplace_back(sub, command.set_up(*sub, context));
  }
  if (Status applied = apply_defaults(app, find_config(argc, argv)); !applied) return context.fail(applied.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "casemate: error: " << describe_usage_error(app, error)
              << "\n(see casemate --help, casemate COMMAND --help)\n";
    return kWrongUse;
  }
  if (context.models_folder.empty()) context.models_folder = context.cache_folder + "/models";
  for (const auto& [sub, go] : runs) {
    if (!sub->parsed()) continue;
    const int code = go();
    std::cout.flush();
    if (!std::cout) return context.fail({ErrorCode::kIo, "standard output cannot be written"});
    return code;
  }
  return kWrongUse;
}

}  // namespace
}  // namespace casemate::cli

int main(int argc, char** argv) {
  try {
    return casemate::cli::run(argc, argv);
  } catch (const std::exception& error) {
    // Out of memory, or a library's exception that no check foresaw: a message and a code instead of an abort.
    std::cerr << "casemate: error: " << casemate::UntrustedText(error.what()).for_terminal() << '\n';
    return casemate::cli::kOutsideFailed;
  }
}
