#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "casemate/pipeline/policy.h"
#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

void list_policies(bool as_json) {
  Json all = Json::array();
  for (const Policy& policy : policies()) {
    Json chain = Json::array();
    if (!as_json) std::cout << std::left << std::setw(22) << policy.name << policy.description << '\n';
    for (const DefenceChoice& defence : policy.defences) {
      if (!as_json)
        std::cout << std::setw(24) << "" << defence.name << (defence.options == "{}" ? "" : defence.options) << '\n';
      chain.push_back({{"name", defence.name}, {"options", defence.options}});
    }
    if (!as_json && policy.sanitize)
      std::cout << std::setw(24) << ""
                << "sanitize " << policy.sanitize->name
                << (policy.sanitize->options == "{}" ? "" : policy.sanitize->options) << '\n';
    if (!as_json && policy.guard)
      std::cout << std::setw(24) << ""
                << "guard " << guard_reaction_name(policy.guard->reaction) << '\n';
    all.push_back({{"name", policy.name},
                   {"description", policy.description},
                   {"mode", retrieval_mode_name(policy.retrieval.mode)},
                   {"top_k", policy.top_k},
                   {"max_new_tokens", policy.max_new_tokens},
                   {"defences", std::move(chain)},
                   {"sanitize", policy.sanitize ? Json(policy.sanitize->name + policy.sanitize->options) : Json()},
                   {"guard", policy.guard ? Json(guard_reaction_name(policy.guard->reaction)) : Json()}});
  }
  if (as_json) std::cout << all.dump() << '\n';
}

void list_defences(bool as_json) {
  Json all = Json::array();
  for (const DefenceEntry& entry : defences()) {
    if (!as_json) std::cout << std::left << std::setw(14) << entry.name << entry.summary << '\n';
    all.push_back({{"name", entry.name},
                   {"summary", entry.summary},
                   {"replaces_the_scan", entry.scans},
                   {"needs_language_model", entry.needs_model}});
  }
  if (as_json) std::cout << all.dump() << '\n';
}

void list_sanitizers(bool as_json) {
  Json all = Json::array();
  for (const SanitizerEntry& entry : sanitizers()) {
    if (!as_json) std::cout << std::left << std::setw(20) << entry.name << entry.summary << '\n';
    all.push_back({{"name", entry.name}, {"summary", entry.summary}, {"bounds_what_leaks", entry.protects}});
  }
  if (as_json) std::cout << all.dump() << '\n';
}

}  // namespace

std::function<int()> set_up_policies(CLI::App& app, Context& context) {
  auto only_defences = std::make_shared<bool>(false);
  app.add_flag("--defences", *only_defences,
               "list the retrieval defences that policies are made of, and --defence takes");
  auto only_sanitizers = std::make_shared<bool>(false);
  app.add_flag("--sanitizers", *only_sanitizers, "list what can stand in the passages' place, which --sanitize takes");
  return [only_defences, only_sanitizers, &context] {
    if (*only_sanitizers) {
      list_sanitizers(context.json);
    } else if (*only_defences) {
      list_defences(context.json);
    } else {
      list_policies(context.json);
    }
    return kDone;
  };
}

}  // namespace casemate::cli
