// What `casemate serve` does on SIGHUP: reads its section of the configuration again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "apps/server/gate.h"
#include "apps/server/server.h"
#include "apps/server/settings.h"
#include "casemate/core/status.h"

namespace casemate::cli {

/// What can change while the server runs.
struct Reloadable {
  server::Settings settings;
  server::ServerOptions timeouts;  ///< only its timeouts
  int requests_per_minute = 600;
  bool log_requests = false;
  std::string policy;  ///< the default one, where the configuration names it; empty: it stays what it is
};

/// The section `serve` as option names (with dashes) and texts; lists are joined by commas.
using ServeSection = std::map<std::string, std::string>;
/// Error: NotFound (no file); what the file lacks; InvalidInput for values that are neither text nor lists.
[[nodiscard]] Result<ServeSection> read_serve_section(const std::string& config_file);

struct Reload {
  Reloadable now;
  std::vector<std::string> changed;        ///< "max-top-k: 100 -> 20"
  std::vector<std::string> needs_restart;  ///< options that differ from the start and are not read again
};

/// What `section` makes of `running`. An option that is not in the section (any more) has its value of `defaults`, one
/// that is in `fixed` (given on the command line) keeps what it has. `at_start`: the section as the server began.
/// Error: InvalidOption for a value that is out of range, naming option and range; then nothing changes.
[[nodiscard]] Result<Reload> reload_from(const ServeSection& section, const ServeSection& at_start,
                                         const Reloadable& running, const Reloadable& defaults,
                                         const std::set<std::string>& fixed);
/// Names of the options that are read again.
[[nodiscard]] std::vector<std::string> reloadable_options();

}  // namespace casemate::cli
