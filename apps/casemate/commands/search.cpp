#include <iomanip>
#include <iostream>

#include "command.h"
#include "open_pipeline.h"

namespace casemate::cli {
namespace {

void print_hits(const SearchResult& result) {
  if (result.hits.empty()) std::cout << "nothing found\n";
  for (const Hit& hit : result.hits) {
    std::cout << std::setw(3) << hit.rank << "  " << std::fixed << std::setprecision(4) << hit.candidate.score << "  "
              << place_text(hit) << '\n';
    if (!hit.title.empty()) std::cout << "     " << hit.title.for_log(100) << '\n';
    std::cout << excerpt(hit.text, 100, 3, "     ");
  }
}

int run(Context& context, const PipelineChoice& choice) {
  const auto open = open_pipeline(context, choice, false);
  if (!open) return context.fail(open.error());
  const auto result = open->pipeline->search(UntrustedText(choice.query.text), open->options, context.stop);
  if (!result) return context.fail(result.error());
  if (context.json) {
    std::cout << to_json(*result) << '\n';
    return kDone;
  }
  print_hits(*result);
  if (choice.explain) print_explanation(result->hits, result->evidence);
  return kDone;
}

}  // namespace

std::function<int()> set_up_search(CLI::App& app, Context& context) {
  auto choice = std::make_shared<PipelineChoice>();
  add_pipeline_options(app, *choice, "query");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
