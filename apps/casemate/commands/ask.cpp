#include <iostream>

#include "command.h"
#include "language_model_choice.h"
#include "query_options.h"

namespace casemate::cli {
namespace {

struct AskChoice {
  QueryChoice query;
  LanguageModelChoice model;
  bool explain = false;
};

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

int run(Context& context, const AskChoice& choice) {
  const auto policy = find_policy(choice.query.policy);
  if (!policy) return context.fail(policy.error());
  const auto options = query_options(choice.query);
  if (!options) return context.fail(options.error());
  const auto store = context.open_store(choice.query.store, true);
  if (!store) return context.fail(store.error());
  const auto encoder =
      encoder_for(context, **store, choice.query.encoder, options->mode.value_or(policy->retrieval.mode));
  if (!encoder) return context.fail(encoder.error());
  const auto model = load_language_model(context, choice.model);
  if (!model) return context.fail(model.error());
  const auto pipeline = Pipeline::create(**store, encoder->get(), model->get(), *policy, context.pool());
  if (!pipeline) return context.fail(pipeline.error());
  const bool stream = !context.json;
  const auto answer = (*pipeline)->ask(
      UntrustedText(choice.query.text), *options,
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
  return kDone;
}

}  // namespace

std::function<int()> set_up_ask(CLI::App& app, Context& context) {
  auto choice = std::make_shared<AskChoice>();
  add_query_options(app, choice->query, "question");
  add_language_model_options(app, choice->model);
  app.add_flag("--explain", choice->explain, "show the passages that the answer was made from");
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
