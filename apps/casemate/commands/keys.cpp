#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/server/key_store.h"
#include "casemate/core/clock.h"
#include "casemate/core/file_system.h"
#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct KeysChoice {
  std::string store;
  std::string file;
  std::string name;
  std::string role = "reader";
  std::string tenant = "default";
  std::vector<std::string> labels;
};

void print(const Json& json) { std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n'; }

Result<std::unique_ptr<server::KeyStore>> open(const KeysChoice& choice) {
  if (!choice.file.empty()) return server::KeyStore::open(choice.file);
  if (choice.store.empty()) return Error{ErrorCode::kInvalidOption, "say whose keys: --store STORE, or --keys FILE"};
  // Opening the store checks that it is one; a misspelt folder would get a new file with keys that nobody reads.
  StoreOptions options;
  options.read_only = true;
  options.load_vectors = false;
  const auto store = Store::open(choice.store, options);
  if (!store) return store.error();
  return server::KeyStore::open(join_path(choice.store, server::kKeyFile));
}

int run_add(Context& context, const KeysChoice& choice) {
  const auto role = server::parse_role(choice.role);
  if (!role) return context.fail(role.error());
  const auto keys = open(choice);
  if (!keys) return context.fail(keys.error());
  const auto key = (*keys)->add(choice.name, *role, choice.tenant, choice.labels);
  if (!key) return context.fail(key.error());
  if (context.json) {
    print({{"name", choice.name},
           {"role", choice.role},
           {"tenant", choice.tenant},
           {"labels", choice.labels},
           {"key", *key}});
  } else {
    std::cout << *key << '\n';
    context.say("This key is shown once; only its hash is kept. casemate keys revoke " + choice.name +
                " takes it back.");
  }
  return kDone;
}

int run_list(Context& context, const KeysChoice& choice) {
  const auto keys = open(choice);
  if (!keys) return context.fail(keys.error());
  const auto all = (*keys)->list();
  if (!all) return context.fail(all.error());
  Json out = Json::array();
  for (const server::KeyRecord& key : *all) {
    const std::string revoked = key.revoked_at == 0 ? "" : format_utc(key.revoked_at);
    out.push_back({{"prefix", key.prefix},
                   {"name", key.name},
                   {"role", server::role_name(key.role)},
                   {"tenant", key.tenant},
                   {"labels", key.labels},
                   {"created_at", format_utc(key.created_at)},
                   {"revoked_at", revoked.empty() ? Json() : Json(revoked)}});
    if (context.json) continue;
    std::cout << key.prefix << "  " << server::role_name(key.role) << "  " << key.tenant << "  " << key.name;
    for (const std::string& label : key.labels) std::cout << " +" << label;
    std::cout << (revoked.empty() ? "" : "  revoked " + revoked) << '\n';
  }
  if (context.json) print(out);
  return kDone;
}

int run_revoke(Context& context, const KeysChoice& choice) {
  const auto keys = open(choice);
  if (!keys) return context.fail(keys.error());
  if (Status revoked = (*keys)->revoke(choice.name); !revoked) return context.fail(revoked.error());
  if (context.json) {
    print({{"revoked", choice.name}});
  } else {
    context.say("revoked; a running server refuses it from the next request on");
  }
  return kDone;
}

}  // namespace

std::function<int()> set_up_keys(CLI::App& app, Context& context) {
  auto choice = std::make_shared<KeysChoice>();
  app.require_subcommand(1);
  CLI::App* add = app.add_subcommand("add", "make a key and show it, once");
  CLI::App* list = app.add_subcommand("list", "what keys there are");
  CLI::App* revoke = app.add_subcommand("revoke", "take a key back");
  for (CLI::App* each : {add, list, revoke}) {
    each->add_option("--store", choice->store, "the store whose server takes these keys");
    each->add_option("--keys", choice->file, "file with the keys, where it is not the store's");
  }
  add->add_option("name", choice->name, "whose key it is")->required();
  add->add_option("--role", choice->role, "reader, writer (also changes documents) or admin (also policies)")
      ->capture_default_str();
  add->add_option("--tenant", choice->tenant, "whose documents it sees")->capture_default_str();
  add->add_option("--label", choice->labels, "sees only documents with one of these labels")->delimiter(',');
  revoke->add_option("name", choice->name, "its name, or its prefix")->required();
  return [choice, &context, add, list] {
    if (add->parsed()) return run_add(context, *choice);
    return list->parsed() ? run_list(context, *choice) : run_revoke(context, *choice);
  };
}

}  // namespace casemate::cli
