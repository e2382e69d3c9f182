#include "formats/reading_child.h"

#include <utility>

namespace casemate {

Result<ChildOutput> run_reading_child(const std::string& program, std::vector<std::string> arguments,
                                      std::string_view input, const ReadLimits& limits, const std::stop_token& stop,
                                      bool limit_addresses) {
  ChildRun run;
  run.program = program;
  run.arguments = std::move(arguments);
  run.input = input;
  run.timeout_ms = limits.child_timeout_ms;
  run.memory_bytes = limit_addresses ? limits.child_memory_bytes : 0;
  run.output_bytes = limits.child_output_bytes;
  auto output = run_child(run, stop);
  if (output) return output;
  Error error = output.error();
  if (error.code == ErrorCode::kTimeout) error.message += " (limits.child_timeout_ms)";
  if (error.code == ErrorCode::kLimit) error.message += " (limits.child_output_bytes)";
  return error;
}

}  // namespace casemate
