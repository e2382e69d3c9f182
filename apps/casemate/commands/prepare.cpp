#include "casemate/pipeline/prepare.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/defend/passage_cache.h"
#include "casemate/pipeline/policy.h"
#include "casemate/retrieve/prepare_candidates.h"
#include "command.h"
#include "language_model_choice.h"

namespace casemate::cli {
namespace {

struct PrepareChoice {
  std::string store;
  std::string tenant = "default";
  std::string encoder;
  std::vector<std::string> defences;
  std::string policy;
  std::string candidates;  ///< "hnsw", "ivf"; empty: none
  LanguageModelChoice model;
};

Result<std::vector<DefenceChoice>> chosen(const PrepareChoice& choice) {
  std::vector<DefenceChoice> out;
  if (!choice.policy.empty()) {
    const auto policy = find_policy(choice.policy);
    if (!policy) return policy.error();
    out = policy->defences;
  }
  for (const std::string& text : choice.defences) {
    const auto defence = parse_defence(text);
    if (!defence) return defence.error();
    out.push_back(*defence);
  }
  if (out.empty() && choice.candidates.empty())
    return Error{ErrorCode::kInvalidArgument, "nothing to prepare: name a --policy, a --defence or --candidates"};
  return out;
}

/// Makes what one defence needs. Nothing where it needs nothing.
Result<std::optional<PrepareSummary>> prepare(Context& context, Store& store, const PrepareChoice& choice,
                                              const DefenceChoice& defence, const DefenceServices& services) {
  const auto entry = find_defence(defence.name);
  if (!entry) return entry.error();
  if ((*entry)->scans) {
    const auto made = create_scan_defence(defence, services);
    if (!made) return made.error();
    auto summary = complete_vectors(store, choice.tenant, (*made)->recipe(), context.progress(), context.stop);
    if (!summary) return summary.error();
    if (Status remembered = remember_prepared(store, defence); !remembered) return remembered.error();
    return std::optional<PrepareSummary>(*summary);
  }
  const auto made = create_defence(defence, services);
  if (!made) return made.error();
  if (!(*made)->precomputes()) return std::optional<PrepareSummary>();
  auto summary = precompute_passages(store, choice.tenant, **made, context.progress(), context.stop);
  if (!summary) return summary.error();
  if (Status remembered = remember_prepared(store, defence); !remembered) return remembered.error();
  return std::optional<PrepareSummary>(*summary);
}

/// Makes what the defences need, and prints it.
int prepare_defences(Context& context, Store& store, const PrepareChoice& choice,
                     const std::vector<DefenceChoice>& defences) {
  const auto encoder = context.load_encoder_of(store, choice.encoder);
  if (!encoder) return context.fail(encoder.error());
  std::unique_ptr<LanguageModel> model;
  for (const DefenceChoice& defence : defences) {
    if (!prepares_with_model(defence) || model) continue;
    auto loaded = load_language_model(context, choice.model);
    if (!loaded) return context.fail(loaded.error());
    model = *std::move(loaded);
  }
  const auto cache = make_store_passage_cache(store);
  DefenceServices services;
  services.encoder = encoder->get();
  services.model = model.get();
  services.store = &store;
  services.cache = cache.get();
  services.pool = &context.pool();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const DefenceChoice& defence : defences) {
    const auto summary = prepare(context, store, choice, defence, services);
    if (!summary) return context.fail(summary.error());
    nlohmann::ordered_json entry = {{"defence", defence.name}, {"options", defence.options}};
    if (!context.json && !*summary) std::cout << defence.name << ": needs nothing\n";
    if (*summary) {
      entry.update({{"passages", (*summary)->passages},
                    {"already", (*summary)->already},
                    {"repeated_fragments", (*summary)->repeated_fragments}});
      if (!context.json) {
        std::cout << defence.name << ": " << (*summary)->passages << " passages prepared, " << (*summary)->already
                  << " were already";
        if ((*summary)->repeated_fragments > 0)
          std::cout << "; " << (*summary)->repeated_fragments << " are too short for that many distinct fragments";
        std::cout << '\n';
      }
    }
    all.push_back(std::move(entry));
  }
  if (context.json) std::cout << all.dump() << '\n';
  return kDone;
}

/// Makes the candidate index, and prints what became of it.
int make_candidates(Context& context, Store& store, const PrepareChoice& choice) {
  const auto method = parse_candidate_method(choice.candidates);
  if (!method) return context.fail(method.error());
  const auto made = prepare_candidates(store, choice.tenant, *method, context.pool(), context.progress(), context.stop);
  if (!made) return context.fail(made.error());
  if (context.json) {
    const nlohmann::ordered_json out = {
        {"candidates", choice.candidates}, {"passages", made->passages}, {"file_bytes", made->file_bytes}};
    std::cout << out.dump() << '\n';
  } else {
    std::cout << "candidates by " << choice.candidates << ": " << made->passages << " passages, " << made->file_bytes
              << " bytes; searches use them with --candidates " << choice.candidates << '\n';
  }
  return kDone;
}

int run(Context& context, const PrepareChoice& choice) {
  const auto defences = chosen(choice);
  if (!defences) return context.fail(defences.error());
  const auto store = context.open_store(choice.store, false);
  if (!store) return context.fail(store.error());
  if (!defences->empty()) {
    if (const int code = prepare_defences(context, **store, choice, *defences); code != kDone) return code;
  }
  return choice.candidates.empty() ? kDone : make_candidates(context, **store, choice);
}

}  // namespace

std::function<int()> set_up_prepare(CLI::App& app, Context& context) {
  auto choice = std::make_shared<PrepareChoice>();
  app.add_option("store", choice->store, "the store's folder")->required();
  app.add_option("--policy", choice->policy, "make what this policy's defences need");
  app.add_option("--defence", choice->defences, "make what this defence needs, as NAME or 'NAME{option: value, ...}'");
  app.add_option(
      "--candidates", choice->candidates,
      "also make the index by which searches find candidates instead of looking at every passage: hnsw or ivf");
  app.add_option("--tenant", choice->tenant, "whose documents")->capture_default_str();
  app.add_option("--encoder", choice->encoder, "where the store's encoder lies, if not where the store remembers");
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
