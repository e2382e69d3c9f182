#include "run_outputs.h"

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/eval/export.h"
#include "command.h"

namespace casemate::cli {
namespace {

Status write_if_asked(const std::string& path, const std::string& text) {
  return path.empty() ? Status() : write_file_atomically(FileSystem::posix(), path, text);
}

Status write_files(const RunOutputs& outputs, const RunRecord& run, const std::vector<Gate>& gates,
                   const std::vector<GateResult>& results) {
  if (Status written = write_if_asked(outputs.csv, run_csv(run)); !written) return written;
  if (Status written = write_if_asked(outputs.markdown, run_markdown(run)); !written) return written;
  if (Status written = write_if_asked(outputs.latex, run_latex(run)); !written) return written;
  if (Status written = write_if_asked(outputs.junit, gates_junit(run, gates, results)); !written) return written;
  return write_if_asked(outputs.sarif, gates_sarif(run, gates, results));
}

}  // namespace

void add_run_outputs(CLI::App& app, RunOutputs& outputs) {
  app.add_option(
         "--fail-if", outputs.gates,
         "exit 1 where this holds: \"asr@5 > 0.05\", \"high(asr) > 0.1 where defence != none\"; may be repeated")
      ->group("Gates and exports");
  app.add_option("--junit", outputs.junit, "write what the gates found as JUnit XML")->group("Gates and exports");
  app.add_option("--sarif", outputs.sarif, "write gates that failed as SARIF 2.1.0")->group("Gates and exports");
  app.add_option("--csv", outputs.csv, "write every figure as CSV")->group("Gates and exports");
  app.add_option("--markdown", outputs.markdown, "write the tables as Markdown")->group("Gates and exports");
  app.add_option("--latex", outputs.latex, "write the tables as LaTeX")->group("Gates and exports");
}

Result<std::vector<Gate>> parse_gates(const RunOutputs& outputs) {
  std::vector<Gate> out;
  for (const std::string& text : outputs.gates) {
    auto gate = parse_gate(text);
    if (!gate) return gate.error();
    out.push_back(*std::move(gate));
  }
  return out;
}

int write_run_outputs(Context& context, const RunOutputs& outputs, const RunRecord& run) {
  const auto gates = parse_gates(outputs);
  if (!gates) return context.fail(gates.error());
  const auto results = ask_gates(run, *gates);
  if (!results) return context.fail(results.error());
  if (Status written = write_files(outputs, run, *gates, *results); !written) return context.fail(written.error());
  std::size_t failed = 0;
  for (const GateResult& result : *results) {
    if (!result.failed) continue;
    ++failed;
    context.say("gate failed: " + (*gates)[result.gate].text + ": " +
                UntrustedText(result.attack + " / " + result.defence).for_log() + ": " + result.metric +
                (result.reason.empty() ? " is " + std::to_string(result.figure.value) + " over " +
                                             std::to_string(result.figure.of) + " queries"
                                       : " shows nothing: " + result.reason));
  }
  if (!gates->empty() && failed == 0) context.say("all gates hold");
  return failed == 0 ? kDone : kAnswerIsNo;
}

}  // namespace casemate::cli
