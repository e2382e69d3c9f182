// apps/casemate/run_outputs.h
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/gate.h"
#include "casemate/eval/run_record.h"
#include "context.h"

namespace casemate::cli {

/// Gates and exports of finished runs, for the commands that have them.
struct RunOutputs {
  std::vector<std::string> gates;  ///< as written behind --fail-if
  std::string junit;
  std::string sarif;
  std::string csv;
  std::string markdown;
  std::string latex;
};

void add_run_outputs(CLI::App& app, RunOutputs& outputs);

/// Error: InvalidOption for one that is no gate.
[[nodiscard]] Result<std::vector<Gate>> parse_gates(const RunOutputs& outputs);

/// Writes the files that were asked for and asks the gates. Returns the exit code: kDone, kAnswerIsNo where a gate
/// fails (says which), or that of an error.
[[nodiscard]] int write_run_outputs(Context& context, const RunOutputs& outputs, const RunRecord& run);

}  // namespace casemate::cli
