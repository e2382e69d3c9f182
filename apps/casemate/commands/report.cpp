#include <iostream>

#include "casemate/core/file_system.h"
#include "casemate/eval/export.h"
#include "casemate/eval/report.h"
#include "command.h"
#include "run_outputs.h"

namespace casemate::cli {
namespace {

struct ReportChoice {
  std::vector<std::string> runs;
  std::string out;
  std::string title;
  double max_mb = 2.9;
  bool no_costs = false;
  RunOutputs outputs;
};

int run(Context& context, const ReportChoice& choice) {
  if (const auto gates = parse_gates(choice.outputs); !gates) return context.fail(gates.error());
  std::vector<RunRecord> runs;
  for (const std::string& folder : choice.runs) {
    auto read = read_run_record(folder);
    if (!read) return context.fail(read.error());
    runs.push_back(*std::move(read));
  }
  ReportOptions options;
  options.title = choice.title;
  options.max_bytes = static_cast<std::size_t>(choice.max_mb * 1e6);
  options.with_costs = !choice.no_costs;
  const auto page = make_report(runs, options);
  if (!page) return context.fail(page.error());
  const std::string out = choice.out.empty() ? join_path(choice.runs.front(), "report.html") : choice.out;
  if (Status written = write_file_atomically(FileSystem::posix(), out, *page); !written)
    return context.fail(written.error());
  if (context.json) std::cout << run_json(runs.front());
  context.say(out + ": " + std::to_string(page->size() / 1000) + " kB");
  return write_run_outputs(context, choice.outputs, runs.front());
}

}  // namespace

std::function<int()> set_up_report(CLI::App& app, Context& context) {
  auto choice = std::make_shared<ReportChoice>();
  app.add_option("runs", choice->runs, "folders of runs that eval finished; the first is what others are compared with")
      ->required();
  app.add_option("--out", choice->out, "the page to write (default: report.html in the first run's folder)");
  app.add_option("--title", choice->title, "of the page (default: the experiments' names)");
  app.add_option("--max-mb", choice->max_mb, "size of the page; single queries are cut to fit")
      ->check(CLI::Range(0.2, 100.0))
      ->capture_default_str();
  app.add_flag("--no-costs", choice->no_costs,
               "leave out what queries took, so that the same results give the same page");
  add_run_outputs(app, choice->outputs);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
