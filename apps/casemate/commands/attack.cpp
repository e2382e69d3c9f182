#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "attack_input.h"
#include "casemate/attack/attacks.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/attack/plant.h"
#include "casemate/core/file_system.h"
#include "casemate/defend/defences.h"
#include "casemate/pipeline/prepare.h"
#include "command.h"
#include "language_model_choice.h"
#include "paraphrase_judge.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AttackCommand {
  std::string attack;
  TargetChoice targets;
  std::string store;
  std::string out = "attack.jsonl";
  std::string into;
  std::string remove;
  std::string preferences;
  std::string tenant = "default";
  std::string encoder;
  std::string judge;
  std::uint64_t seed = 42;
  bool list = false;
  bool overwrite = false;
  LanguageModelChoice model;
};

int list_attacks(const Context& context) {
  for (const AttackEntry& entry : attacks()) {
    if (context.json) {
      std::cout << Json{{"name", entry.name},
                        {"summary", entry.summary},
                        {"access", attack_access_name(entry.access)},
                        {"atlas", entry.atlas},
                        {"owasp_2025", entry.owasp_2025},
                        {"owasp_2026", entry.owasp_2026},
                        {"uses_model", entry.uses_model}}
                       .dump()
                << '\n';
    } else {
      std::cout << entry.name << std::string(18 - std::min<std::size_t>(entry.name.size(), 17), ' ') << entry.summary
                << " (" << attack_access_name(entry.access) << ")\n";
    }
  }
  return kDone;
}

int remove(Context& context, const AttackCommand& choice) {
  const auto store = context.open_store(choice.remove, false);
  if (!store) return context.fail(store.error());
  const auto removed = remove_planted(**store, choice.tenant);
  if (!removed) return context.fail(removed.error());
  if (context.json) {
    std::cout << Json{{"removed", *removed}}.dump() << '\n';
  } else {
    std::cout << "removed " << *removed << " planted documents\n";
  }
  return kDone;
}

/// What is crafted goes into this file as it is done, and the file away when all is.
std::string work_path(const AttackCommand& choice) { return choice.out + ".work"; }

Status check_out(const AttackCommand& choice) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (choice.overwrite || !fs::exists(choice.out, ignored) || fs::exists(work_path(choice), ignored)) return {};
  return Error{ErrorCode::kAlreadyExists,
               choice.out + " is there already; name another file with --out, or allow --overwrite"};
}

/// Errors that need no long work come first.
Result<std::unique_ptr<Attack>> make_attack(const AttackCommand& choice, bool& uses_model) {
  const auto parsed = parse_attack(choice.attack);
  if (!parsed) return parsed.error();
  const auto entry = find_attack(parsed->name);
  if (!entry) return entry.error();
  uses_model = (*entry)->uses_model;
  return create_attack(*parsed);
}

struct Made {
  std::size_t documents = 0;
  std::size_t queries = 0;
  std::size_t fell_back = 0;
  std::size_t planted = 0;
};

/// Plants with the vectors that the store's prepared defences need: without them these would not see the poison at all,
/// which is no defence.
Status plant(Context& context, const AttackCommand& choice, std::span<const CraftedDocument> documents) {
  const auto store = context.open_store(choice.into, false);
  if (!store) return store.error();
  const auto encoder = context.load_encoder_of(**store, choice.encoder);
  if (!encoder) return encoder.error();
  const auto defences = prepared_defences(**store);
  if (!defences) return defences.error();
  std::unique_ptr<LanguageModel> model;
  for (const DefenceChoice& defence : *defences) {
    if (!prepares_with_model(defence) || model) continue;
    auto loaded = load_language_model(context, choice.model);
    if (!loaded) return loaded.error();
    model = *std::move(loaded);
  }
  DefenceServices services;
  services.encoder = encoder->get();
  services.model = model.get();
  services.store = store->get();
  services.pool = &context.pool();
  const auto scans = prepared_scans(*defences, services);
  if (!scans) return scans.error();
  std::vector<const VectorRecipe*> recipes;
  for (const auto& scan : *scans) recipes.push_back(&scan->recipe());
  return plant_documents(**store, choice.tenant, **encoder, documents, recipes, context.progress(), context.stop);
}

Result<Made> craft(Context& context, const AttackCommand& choice) {
  bool uses_model = false;
  const auto attack = make_attack(choice, uses_model);
  if (!attack) return attack.error();
  if (choice.store.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "--store S is missing: the store whose documents are altered and whose encoder is attacked"};
  }
  auto targets = choose_targets(choice.targets, choice.seed);
  if (!targets) return targets.error();
  if (Status free = check_out(choice); !free) return free.error();
  const auto store = context.open_store(choice.store, true, false);
  if (!store) return store.error();
  const auto encoder = context.load_encoder_of(**store, choice.encoder);
  if (!encoder) return encoder.error();
  std::unique_ptr<LanguageModel> model;
  const bool has_texts =
      std::all_of(targets->begin(), targets->end(), [](const AttackTarget& each) { return !each.wrong_texts.empty(); });
  if (uses_model && !((*attack)->name() == "poison" && has_texts)) {
    auto loaded = load_language_model(context, choice.model);
    if (!loaded) return loaded.error();
    model = *std::move(loaded);
  }
  const auto corpus = passages_of_store(**store, choice.tenant, context.stop);
  if (!corpus) return corpus.error();
  if (corpus->empty()) {
    return Error{ErrorCode::kInvalidInput, choice.store + ": tenant " + UntrustedText(choice.tenant).for_log() +
                                               " has no document that could be altered"};
  }
  const auto cache = open_craft_cache(work_path(choice));
  if (!cache) return cache.error();
  AttackInput input{*corpus, *targets, choice.seed};
  std::unique_ptr<Encoder> judge;
  if ((*attack)->name() == "advraggen") {
    const auto target = encoder_choice_of(**store, choice.encoder);
    if (!target) return target.error();
    auto loaded = load_paraphrase_judge(context, **encoder, *target, choice.judge);
    if (!loaded) return loaded.error();
    judge = *std::move(loaded);
  }
  input.tools = {encoder->get(), judge.get(), model.get(), cache->get(), &context.pool(), &context.progress()};
  const auto crafted = (*attack)->craft(input, context.stop);
  if (!crafted) return crafted.error();
  std::string text;
  for (const CraftedDocument& each : crafted->documents) text += attack_record_json(**attack, each) + "\n";
  for (const CraftedQuery& each : crafted->queries) text += attack_record_json(**attack, each) + "\n";
  if (Status written = write_file_atomically(FileSystem::posix(), choice.out, text); !written) return written.error();
  if (!choice.preferences.empty()) {
    std::string pairs;
    for (const CraftedDocument& each : crafted->documents) {
      if (!each.paraphrase) continue;
      for (const ParaphrasePreference& pair : each.paraphrase->preferences)
        pairs += preference_record_json(pair) + "\n";
    }
    if (Status kept = write_file_atomically(FileSystem::posix(), choice.preferences, pairs); !kept) return kept.error();
  }
  Made made{crafted->documents.size(), crafted->queries.size(), crafted->fell_back, 0};
  if (!choice.into.empty()) {
    if (Status planted = plant(context, choice, crafted->documents); !planted) return planted.error();
    made.planted = crafted->documents.size();
  }
  std::error_code ignored;
  std::filesystem::remove(work_path(choice), ignored);
  return made;
}

int run(Context& context, const AttackCommand& choice) {
  if (choice.list) return list_attacks(context);
  if (!choice.remove.empty()) return remove(context, choice);
  if (choice.attack.empty()) {
    return context.fail({ErrorCode::kInvalidArgument,
                         "no attack named; --list shows which there are, --remove S takes out what was planted"});
  }
  const auto made = craft(context, choice);
  if (!made) {
    const int code = context.fail(made.error());
    if (made.error().code == ErrorCode::kCancelled) context.say("the same command goes on from here");
    return code;
  }
  if (context.json) {
    std::cout << Json{{"out", choice.out},
                      {"documents", made->documents},
                      {"queries", made->queries},
                      {"fell_back", made->fell_back},
                      {"planted", made->planted}}
                     .dump()
              << '\n';
    return kDone;
  }
  std::cout << made->documents << " documents";
  if (made->queries > 0) std::cout << " and " << made->queries << " queries";
  std::cout << " in " << choice.out;
  if (made->fell_back > 0) std::cout << ", " << made->fell_back << " of them plain copies (see their notes)";
  std::cout << '\n';
  if (made->planted > 0) {
    std::cout << "planted " << made->planted << " in " << choice.into << "; casemate attack --remove " << choice.into
              << " takes them out\n";
  }
  return kDone;
}

}  // namespace

std::function<int()> set_up_attack(CLI::App& app, Context& context) {
  auto choice = std::make_shared<AttackCommand>();
  app.add_option("attack", choice->attack, "NAME or 'NAME{option: value, ...}'; docs/attacks.md describes each");
  app.add_flag("--list", choice->list, "which attacks there are");
  add_target_options(app, choice->targets);
  app.add_option("--store", choice->store, "the store whose documents are altered and whose encoder is attacked");
  app.add_option("--out", choice->out,
                 "what was made and how, one JSON line a document; FILE.work beside it keeps unfinished work")
      ->capture_default_str();
  app.add_flag("--overwrite", choice->overwrite, "write over --out");
  app.add_option("--into", choice->into, "plant the documents in this store, marked, so that --remove finds them");
  app.add_option("--export-preferences", choice->preferences,
                 "advraggen: write each round's best and worst proposal for a trainer of preferences, as JSON lines");
  app.add_option("--remove", choice->remove, "take out of this store what was planted, and nothing else");
  app.add_option("--tenant", choice->tenant, "whose documents")->capture_default_str();
  app.add_option("--seed", choice->seed, "of everything that is drawn")->capture_default_str();
  app.add_option("--encoder", choice->encoder, "where the store's encoder lies, if not where the store remembers");
  app.add_option(
      "--judge", choice->judge,
      "advraggen: encoder that judges likeness to the document, by name or folder (default: the store's with "
      "its other pooling)");
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
