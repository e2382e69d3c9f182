// Commands that keep a store in order: delete, compact, check, backup, restore, migrate.
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/retrieve/prepare_candidates.h"
#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Prints `json` with --json, else `text`.
int report(const Context& context, const Json& json, const std::string& text, int code = kDone) {
  std::cout << (context.json ? json.dump(-1, ' ', false, Json::error_handler_t::replace) : text) << '\n';
  return code;
}

int run_delete(Context& context, const std::string& path, const std::string& tenant,
               const std::vector<std::string>& ids) {
  const auto store = context.open_store(path, false, false);
  if (!store) return context.fail(store.error());
  const auto deleted = (*store)->delete_documents(tenant, ids);
  if (!deleted) return context.fail(deleted.error());
  const auto missing = static_cast<std::int64_t>(ids.size()) - *deleted;
  return report(context, {{"deleted", *deleted}, {"not_found", missing}},
                "deleted " + std::to_string(*deleted) + " documents" +
                    (missing > 0 ? ", " + std::to_string(missing) + " were not there" : ""),
                missing > 0 ? kWrongUse : kDone);
}

int run_compact(Context& context, const std::string& path) {
  const auto store = context.open_store(path, false);
  if (!store) return context.fail(store.error());
  const auto done = (*store)->compact();
  if (!done) return context.fail(done.error());
  // Candidate indexes still have the embeddings that compacting took out.
  std::size_t candidates = 0;
  if (done->chunks_dropped > 0) {
    const auto dropped = drop_candidates(**store);
    if (!dropped) return context.fail(dropped.error());
    candidates = *dropped;
  }
  if (candidates > 0)
    context.say("candidate indexes held what was deleted and are gone: make them anew with prepare --candidates");
  return report(context,
                {{"segments_before", done->segments_before},
                 {"segments_after", done->segments_after},
                 {"chunks_dropped", done->chunks_dropped},
                 {"candidates_dropped", candidates}},
                "dropped " + std::to_string(done->chunks_dropped) + " deleted passages; segments " +
                    std::to_string(done->segments_before) + " -> " + std::to_string(done->segments_after));
}

int run_check(Context& context, const std::string& path) {
  const auto store = context.open_store(path, true, false);
  if (!store) return context.fail(store.error());
  const auto found = (*store)->check();
  if (!found) return context.fail(found.error());
  Json problems = Json::array();
  std::string text = std::to_string(found->documents) + " documents, " + std::to_string(found->chunks) + " passages, " +
                     std::to_string(found->segments) + " segments: " + (found->ok() ? "no damage" : "DAMAGED");
  for (const CheckProblem& problem : found->problems) {
    problems.push_back({{"file", problem.file}, {"what", problem.what}});
    text += "\n  " + UntrustedText(problem.file + ": " + problem.what).for_log(400);
  }
  return report(context,
                {{"ok", found->ok()},
                 {"documents", found->documents},
                 {"chunks", found->chunks},
                 {"segments", found->segments},
                 {"problems", problems}},
                text, found->ok() ? kDone : kAnswerIsNo);
}

int run_backup(Context& context, const std::string& path, const std::string& destination) {
  const auto store = context.open_store(path, true, false);
  if (!store) return context.fail(store.error());
  if (Status done = (*store)->backup(destination); !done) return context.fail(done.error());
  return report(context, {{"backup", destination}}, "copied to " + destination);
}

int run_restore(Context& context, const std::string& backup, const std::string& destination) {
  if (Status done = Store::restore(backup, destination); !done) return context.fail(done.error());
  return report(context, {{"store", destination}}, "verified and restored to " + destination);
}

int run_migrate(Context& context, const std::string& path, const std::string& backup) {
  const auto done = Store::migrate(path, backup.empty() ? path + ".before-migration" : backup);
  if (!done) return context.fail(done.error());
  return report(context, {{"migrated", *done}}, *done ? "migrated" : "already up to date");
}

}  // namespace

std::function<int()> set_up_delete(CLI::App& app, Context& context) {
  struct Choice {
    std::string store, tenant = "default";
    std::vector<std::string> ids;
  };
  auto choice = std::make_shared<Choice>();
  app.add_option("store", choice->store, "the store's folder")->required();
  app.add_option("ids", choice->ids, "documents to delete (casemate documents lists them)")->required();
  app.add_option("--tenant", choice->tenant, "whose documents")->capture_default_str();
  return [choice, &context] { return run_delete(context, choice->store, choice->tenant, choice->ids); };
}

std::function<int()> set_up_compact(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  app.add_option("store", *path, "the store's folder")->required();
  return [path, &context] { return run_compact(context, *path); };
}

std::function<int()> set_up_check(CLI::App& app, Context& context) {
  auto path = std::make_shared<std::string>();
  app.add_option("store", *path, "the store's folder")->required();
  return [path, &context] { return run_check(context, *path); };
}

std::function<int()> set_up_backup(CLI::App& app, Context& context) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  app.add_option("store", paths->first, "the store's folder")->required();
  app.add_option("destination", paths->second, "a new folder")->required();
  return [paths, &context] { return run_backup(context, paths->first, paths->second); };
}

std::function<int()> set_up_restore(CLI::App& app, Context& context) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  app.add_option("backup", paths->first, "a folder made by casemate backup")->required();
  app.add_option("destination", paths->second, "a new folder")->required();
  return [paths, &context] { return run_restore(context, paths->first, paths->second); };
}

std::function<int()> set_up_migrate(CLI::App& app, Context& context) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  app.add_option("store", paths->first, "the store's folder")->required();
  app.add_option("--backup", paths->second, "where the old store is copied first (default: STORE.before-migration)");
  return [paths, &context] { return run_migrate(context, paths->first, paths->second); };
}

}  // namespace casemate::cli
