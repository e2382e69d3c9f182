#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "attack_input.h"
#include "casemate/attack/attacks.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/file_system.h"
#include "casemate/eval/export.h"
#include "casemate/eval/red_team.h"
#include "command.h"
#include "environment.h"
#include "language_model_choice.h"
#include "paraphrase_judge.h"
#include "run_outputs.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct RedTeamCommand {
  std::string url;
  std::string endpoint;
  std::vector<std::string> attacks;
  TargetChoice targets;
  std::string store;
  std::string documents;
  std::string tenant = "default";
  std::string encoder;
  std::string judge;
  std::string out = "redteam.json";
  std::uint64_t seed = 42;
  bool clean_up = false;
  bool list = false;
  bool overwrite = false;
  LanguageModelChoice model;
  RunOutputs outputs;

  /// What is planted and answered, and what is crafted, until the run is finished.
  [[nodiscard]] std::string journal() const { return out + ".journal"; }
  [[nodiscard]] std::string crafted() const { return out + ".crafted"; }
};

/// An attack as it was asked for.
struct Wanted {
  std::string text;
  const AttackEntry* entry = nullptr;
  std::unique_ptr<Attack> attack;
};

std::string needs_of(const AttackEntry& entry) {
  std::string out = "--queries";
  if (entry.needs_corpus) out += ", --store or --documents";
  if (entry.needs_encoder) out += ", --store or --encoder";
  if (entry.uses_model) out += entry.name == "poison" ? ", --model where no wrong_texts are given" : ", --model";
  return out;
}

int list_needs(const Context& context) {
  for (const AttackEntry& entry : attacks()) {
    // There is no way to the embedding of a query behind an address.
    if (entry.name == "query-noise") continue;
    if (context.json) {
      std::cout << Json{{"name", entry.name},
                        {"summary", entry.summary},
                        {"needs_corpus", entry.needs_corpus},
                        {"needs_encoder", entry.needs_encoder},
                        {"uses_model", entry.uses_model}}
                       .dump()
                << '\n';
    } else {
      std::cout << entry.name << std::string(18 - std::min<std::size_t>(entry.name.size(), 17), ' ') << "needs "
                << needs_of(entry) << '\n';
    }
  }
  return kDone;
}

Result<std::vector<Wanted>> wanted_attacks(const RedTeamCommand& choice) {
  std::vector<Wanted> out;
  for (const std::string& text : choice.attacks) {
    const auto parsed = parse_attack(text);
    if (!parsed) return parsed.error();
    const auto entry = find_attack(parsed->name);
    if (!entry) return entry.error();
    auto attack = create_attack(*parsed);
    if (!attack) return attack.error();
    if ((*attack)->disturbs_queries()) {
      return Error{ErrorCode::kUnsupported,
                   parsed->name + " changes embeddings, which cannot be done over HTTP; casemate eval can"};
    }
    const bool twice = std::any_of(out.begin(), out.end(), [&text](const Wanted& each) { return each.text == text; });
    if (twice) return Error{ErrorCode::kInvalidArgument, UntrustedText(text).for_log() + " is asked for twice"};
    if ((*entry)->needs_corpus && choice.store.empty() && choice.documents.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   parsed->name +
                       " alters documents: give some of those that the system holds, with --documents FILE "
                       "(JSON lines with id and text, or what index reads) or --store S"};
    }
    if ((*entry)->needs_encoder && choice.store.empty() && choice.encoder.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   parsed->name + " needs the system's retriever, or one like it: --encoder NAME or --store S"};
    }
    out.push_back({text, *entry, *std::move(attack)});
  }
  if (out.empty())
    return Error{ErrorCode::kInvalidArgument, "no attack named; give --attack, and --list shows what each needs"};
  return out;
}

Result<std::unique_ptr<RagEndpoint>> open_endpoint(const RedTeamCommand& choice) {
  if (choice.url.empty() || choice.endpoint.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "give the system's URL and --endpoint FILE, which says how to talk to it (examples/redteam has some)"};
  }
  const auto root = YamlValue::parse_file(choice.endpoint);
  if (!root) return root.error();
  const auto adapter = read_endpoint_adapter(*root, [](const std::string& name) {
    const std::string value = environment_variable(name.c_str());
    return value.empty() ? std::nullopt : std::optional(value);
  });
  if (!adapter) return adapter.error();
  return connect_endpoint(choice.url, *adapter);
}

/// A gate that could not be asked is told before the long work.
Status check_gates(const RedTeamCommand& choice) {
  const auto gates = parse_gates(choice.outputs);
  if (!gates) return gates.error();
  std::vector<std::string> names = {"none"};
  names.insert(names.end(), choice.attacks.begin(), choice.attacks.end());
  return check_gate_names(*gates, red_team_metrics(), names, {});
}

Result<RedTeamPlan> make_plan(Context& context, const RedTeamCommand& choice, const std::vector<Wanted>& wanted) {
  RedTeamPlan out;
  out.seed = choice.seed;
  auto targets = choose_targets(choice.targets, choice.seed);
  if (!targets) return targets.error();
  out.targets = *std::move(targets);
  std::unique_ptr<Store> store;
  std::unique_ptr<Encoder> encoder;
  std::vector<CorpusPassage> corpus;
  if (!choice.store.empty()) {
    auto opened = context.open_store(choice.store, true, false);
    if (!opened) return opened.error();
    store = *std::move(opened);
    auto passages = passages_of_store(*store, choice.tenant, context.stop);
    if (!passages) return passages.error();
    corpus = *std::move(passages);
  } else if (!choice.documents.empty()) {
    auto passages = passages_of_path(context, choice.documents);
    if (!passages) return passages.error();
    corpus = *std::move(passages);
  }
  const auto any = [&wanted](bool AttackEntry::*what) {
    return std::any_of(wanted.begin(), wanted.end(), [what](const Wanted& each) { return each.entry->*what; });
  };
  if (any(&AttackEntry::needs_corpus) && corpus.empty())
    return Error{ErrorCode::kInvalidInput, choice.store + ": holds no document that could be altered"};
  if (any(&AttackEntry::needs_encoder)) {
    EncoderChoice named;
    named.encoder = choice.encoder;
    auto loaded = store ? context.load_encoder_of(*store, choice.encoder) : context.load_encoder(named);
    if (!loaded) return loaded.error();
    encoder = *std::move(loaded);
  }
  std::unique_ptr<Encoder> judge;
  const bool paraphrases =
      std::any_of(wanted.begin(), wanted.end(), [](const Wanted& each) { return each.entry->name == "advraggen"; });
  if (paraphrases) {
    EncoderChoice named;
    named.encoder = choice.encoder;
    const auto target = store ? encoder_choice_of(*store, choice.encoder) : Result<EncoderChoice>(named);
    if (!target) return target.error();
    auto loaded = load_paraphrase_judge(context, *encoder, *target, choice.judge);
    if (!loaded) return loaded.error();
    judge = *std::move(loaded);
  }
  std::unique_ptr<LanguageModel> model;
  const bool has_texts = std::all_of(out.targets.begin(), out.targets.end(),
                                     [](const AttackTarget& each) { return !each.wrong_texts.empty(); });
  const bool writes = std::any_of(wanted.begin(), wanted.end(), [has_texts](const Wanted& each) {
    return each.entry->uses_model && !(each.entry->name == "poison" && has_texts);
  });
  if (writes) {
    auto loaded = load_language_model(context, choice.model);
    if (!loaded) return loaded.error();
    model = *std::move(loaded);
  }
  const auto cache = open_craft_cache(choice.crafted());
  if (!cache) return cache.error();
  for (const Wanted& each : wanted) {
    AttackInput input{corpus, out.targets, choice.seed};
    input.tools = {encoder.get(), judge.get(), model.get(), cache->get(), &context.pool(), &context.progress()};
    auto crafted = each.attack->craft(input, context.stop);
    if (!crafted) return crafted.error();
    out.attacks.push_back(plan_attack(each.text, *each.attack, *std::move(crafted), out.targets, corpus));
  }
  return out;
}

Result<RedTeamRun> attack_endpoint(Context& context, const RedTeamCommand& choice, RagEndpoint& endpoint) {
  const auto wanted = wanted_attacks(choice);
  if (!wanted) return wanted.error();
  if (Status checked = check_gates(choice); !checked) return checked.error();
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!choice.overwrite && fs::exists(choice.out, ignored) && !fs::exists(choice.journal(), ignored)) {
    return Error{ErrorCode::kAlreadyExists,
                 choice.out + " is there already; name another file with --out, or allow --overwrite"};
  }
  const auto plan = make_plan(context, choice, *wanted);
  if (!plan) return plan.error();
  auto run = run_red_team(*plan, endpoint, {choice.url, choice.journal()}, context.progress(), context.stop);
  if (!run) return run.error();
  if (Status kept = write_file_atomically(FileSystem::posix(), choice.out, to_json(*run)); !kept) return kept.error();
  fs::remove(choice.crafted(), ignored);
  return run;
}

int clean_up(Context& context, const RedTeamCommand& choice, RagEndpoint& endpoint) {
  const auto removed = clean_up_red_team(endpoint, {choice.url, choice.journal()}, context.progress(), context.stop);
  if (!removed) return context.fail(removed.error());
  std::error_code ignored;
  std::filesystem::remove(choice.crafted(), ignored);
  if (context.json) {
    std::cout << Json{{"removed", *removed}}.dump() << '\n';
  } else {
    std::cout << "removed " << *removed << " planted documents\n";
  }
  return kDone;
}

int run(Context& context, const RedTeamCommand& choice) {
  if (choice.list) return list_needs(context);
  const auto endpoint = open_endpoint(choice);
  if (!endpoint) return context.fail(endpoint.error());
  if (choice.clean_up) return clean_up(context, choice, **endpoint);
  const auto done = attack_endpoint(context, choice, **endpoint);
  if (!done) {
    const int code = context.fail(done.error());
    std::error_code ignored;
    if (std::filesystem::exists(choice.journal(), ignored)) context.say("the same command goes on from here");
    return code;
  }
  const RunRecord record = red_team_record(*done);
  std::cout << (context.json ? to_json(*done) : run_markdown(record));
  context.say("asked " + std::to_string(done->asked) + " questions, " + std::to_string(done->already) +
              " were answered already; everything is in " + choice.out);
  return write_run_outputs(context, choice.outputs, record);
}

}  // namespace

std::function<int()> set_up_redteam(CLI::App& app, Context& context) {
  auto choice = std::make_shared<RedTeamCommand>();
  app.add_option("url", choice->url, "address of the system, http or https");
  app.add_option("--endpoint", choice->endpoint, "YAML file that says how to talk to it (docs/attacks.md)");
  app.add_option("--attack", choice->attacks, "NAME or 'NAME{option: value, ...}'; may be given several times");
  app.add_flag("--list", choice->list, "what each attack needs");
  add_target_options(app, choice->targets);
  app.add_option("--documents", choice->documents,
                 "documents that the system holds, to be altered: JSON lines (id, text, title) or what index reads");
  app.add_option("--store", choice->store, "the same from a store, with its encoder");
  app.add_option("--tenant", choice->tenant, "whose documents of --store")->capture_default_str();
  app.add_option("--encoder", choice->encoder, "the system's encoder or one like it, for attacks by gradients");
  app.add_option("--judge", choice->judge, "advraggen: encoder that judges likeness (default: its other pooling)");
  app.add_option("--out", choice->out,
                 "every figure, answer and planted document, as JSON; FILE.journal beside it keeps unfinished work")
      ->capture_default_str();
  app.add_flag("--overwrite", choice->overwrite, "write over --out");
  app.add_flag("--clean-up", choice->clean_up, "take out what an earlier run left planted, and nothing else");
  app.add_option("--seed", choice->seed, "of everything that is drawn")->capture_default_str();
  add_language_model_options(app, choice->model);
  add_run_outputs(app, choice->outputs);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
