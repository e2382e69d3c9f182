#include <iomanip>
#include <iostream>

#include "command.h"
#include "query_options.h"

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

void print_explanation(const Evidence& evidence) {
  for (const StageEvidence& stage : evidence.stages) {
    std::cout << "\nstage " << stage.stage << ": " << stage.passages_in << " passages in, " << stage.passages_out
              << " out\n";
    for (const auto& [name, value] : stage.parameters)
      std::cout << "  " << name << " = " << UntrustedText(value).for_log() << '\n';
    for (const std::string& note : stage.notes) std::cout << "  note: " << UntrustedText(note).for_log(400) << '\n';
    for (const Verdict& verdict : stage.verdicts) {
      std::cout << "  " << std::left << std::setw(8) << decision_name(verdict.decision) << std::right << std::setw(8)
                << verdict.chunk << "  ";
      if (verdict.score) std::cout << std::fixed << std::setprecision(6) << *verdict.score << "  ";
      std::cout << UntrustedText(verdict.document).for_log(60) << "  " << UntrustedText(verdict.reason).for_log()
                << '\n';
    }
  }
}

int run(Context& context, const QueryChoice& choice, bool explain) {
  const auto policy = find_policy(choice.policy);
  if (!policy) return context.fail(policy.error());
  const auto options = query_options(choice);
  if (!options) return context.fail(options.error());
  const auto store = context.open_store(choice.store, true);
  if (!store) return context.fail(store.error());
  const auto encoder = encoder_for(context, **store, choice.encoder, options->mode.value_or(policy->retrieval.mode));
  if (!encoder) return context.fail(encoder.error());
  const auto pipeline = Pipeline::create(**store, encoder->get(), nullptr, *policy, context.pool());
  if (!pipeline) return context.fail(pipeline.error());
  const auto result = (*pipeline)->search(UntrustedText(choice.text), *options);
  if (!result) return context.fail(result.error());
  if (context.json) {
    std::cout << to_json(*result) << '\n';
    return kDone;
  }
  print_hits(*result);
  if (explain) print_explanation(result->evidence);
  return kDone;
}

}  // namespace

std::function<int()> set_up_search(CLI::App& app, Context& context) {
  struct Choice {
    QueryChoice query;
    bool explain = false;
  };
  auto choice = std::make_shared<Choice>();
  add_query_options(app, choice->query, "query");
  app.add_flag("--explain", choice->explain, "what each stage saw and decided");
  return [choice, &context] { return run(context, choice->query, choice->explain); };
}

}  // namespace casemate::cli
