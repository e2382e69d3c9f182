#include <iostream>

#include "command.h"
#include "open_pipeline.h"

namespace casemate::cli {
namespace {

void print_sources(const Answer& answer, bool explain) {
  std::cout << "\n\nSources:\n";
  for (const Source& source : answer.sources) {
    std::cout << (source.cited ? " *" : "  ") << "[" << source.number << "] " << place_text(source.hit) << '\n';
    if (explain) std::cout << excerpt(source.hit.text, 100, 4, "       ");
  }
  for (const StageEvidence& stage : answer.evidence.stages) {
    for (const Verdict& verdict : stage.verdicts) {
      if (verdict.decision == Decision::kKept) continue;
      std::cout << "  " << decision_name(verdict.decision) << " in stage " << stage.stage << ": "
                << UntrustedText(verdict.document).for_log(80) << ": " << UntrustedText(verdict.reason).for_log()
                << '\n';
    }
    for (const std::string& note : stage.notes) std::cout << "  note: " << UntrustedText(note).for_log(300) << '\n';
  }
  std::cout << "  (* named in the answer; policy " << answer.policy << ", no certificate under it)\n";
}

int run(Context& context, const PipelineChoice& choice) {
  const auto open = open_pipeline(context, choice, true);
  if (!open) return context.fail(open.error());
  const bool stream = !context.json;
  const auto answer = open->pipeline->ask(
      UntrustedText(choice.query.text), open->options,
      [stream](const UntrustedText& text) {
        if (stream) std::cout << text.for_terminal() << std::flush;
      },
      context.stop);
  if (!answer) return context.fail(answer.error());
  if (context.json) {
    std::cout << to_json(*answer) << '\n';
    return kDone;
  }
  if (answer->sources.empty()) std::cout << answer->text.for_terminal();
  print_sources(*answer, choice.explain);
  if (choice.explain) {
    std::vector<Hit> hits;
    for (const Source& source : answer->sources) hits.push_back(source.hit);
    print_explanation(hits, answer->evidence);
  }
  return kDone;
}

}  // namespace

std::function<int()> set_up_ask(CLI::App& app, Context& context) {
  auto choice = std::make_shared<PipelineChoice>();
  add_pipeline_options(app, *choice, "question");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
