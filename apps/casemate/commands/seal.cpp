#include "casemate/defend/seal.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SealChoice {
  std::string store;
  std::string key;
  std::string new_key;
  std::string public_key;
  bool verify = false;
  SealOptions options;
};

void print(const Json& json) { std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n'; }

int make_key(Context& context, const SealChoice& choice) {
  const SigningKey key = SigningKey::generate();
  if (Status saved = key.save(choice.new_key); !saved) return context.fail(saved.error());
  if (context.json) {
    print({{"key", choice.new_key},
           {"public_key_file", choice.new_key + ".pub"},
           {"public_key", to_hex(key.public_key())}});
  } else {
    std::cout << "wrote " << choice.new_key << " (secret: keep it) and " << choice.new_key << ".pub\n";
  }
  return kDone;
}

/// The value at `share` of the way through ascending values.
double quantile(std::span<const float> values, double share) {
  return static_cast<double>(values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))]);
}

Json calibration_json(const SealCalibration& calibration) {
  Json out = {{"passages", calibration.nearest_cosine.size()}};
  if (calibration.nearest_cosine.empty()) return out;
  for (const auto& [name, share] : {std::pair{"p01", 0.01}, {"p50", 0.5}, {"p99", 0.99}}) {
    out["nearest_cosine"][name] = quantile(calibration.nearest_cosine, share);
    out["best_jaccard"][name] = quantile(calibration.best_jaccard, share);
  }
  return out;
}

Json seal_json(const Seal& seal) {
  return {{"tenant", seal.tenant},
          {"version", seal.version},
          {"sealed_at", format_utc(seal.sealed_at)},
          {"root", to_hex(seal.root)},
          {"documents", seal.documents.size()},
          {"passages", seal.passages},
          {"sketch_key_id", seal.sketch_key_id},
          {"public_key", to_hex(seal.public_key)},
          {"calibration", calibration_json(seal.calibration)}};
}

std::string seal_text(const Seal& seal) {
  return "version " + std::to_string(seal.version) + " of " + format_utc(seal.sealed_at) + ": " +
         std::to_string(seal.documents.size()) + " documents, " + std::to_string(seal.passages) + " passages\nroot " +
         to_hex(seal.root) + "\nby key " + to_hex(seal.public_key) + "\n";
}

int make_seal(Context& context, const SealChoice& choice) {
  const auto key = SigningKey::load(choice.key);
  if (!key) {
    Error error = key.error();
    if (error.code == ErrorCode::kNotFound) error.message += " (casemate seal --new-key FILE makes a key)";
    return context.fail(error);
  }
  const auto store = context.open_store(choice.store, false);
  if (!store) return context.fail(store.error());
  const auto seal = seal_documents(**store, *key, choice.options, context.pool(), context.progress(), context.stop);
  if (!seal) return context.fail(seal.error());
  if (context.json) {
    print(seal_json(*seal));
    return kDone;
  }
  std::cout << seal_text(*seal);
  const SealCalibration& calibration = seal->calibration;
  if (!calibration.nearest_cosine.empty()) {
    std::cout << "nearest other sealed passage: cosine " << quantile(calibration.nearest_cosine, 0.5)
              << " (1 in 100: " << quantile(calibration.nearest_cosine, 0.99) << " and more), shingles in common "
              << quantile(calibration.best_jaccard, 0.5) << " (1 in 100: " << quantile(calibration.best_jaccard, 0.99)
              << " and more)\n";
  }
  return kDone;
}

int verify(Context& context, const SealChoice& choice) {
  std::optional<PublicKey> expected;
  if (!choice.public_key.empty()) {
    const auto key = load_public_key(choice.public_key);
    if (!key) return context.fail(key.error());
    expected = *key;
  }
  const auto store = context.open_store(choice.store, true, false);
  if (!store) return context.fail(store.error());
  const auto seal = read_seal(**store, choice.options.tenant, expected);
  if (!seal) {
    const ErrorCode code = seal.error().code;
    if (code != ErrorCode::kCorrupt && code != ErrorCode::kMismatch) return context.fail(seal.error());
    if (context.json) print({{"holds", false}, {"problem", seal.error().message}});
    context.fail(seal.error());
    return kAnswerIsNo;
  }
  if (!*seal) {
    return context.fail({ErrorCode::kNotFound,
                         choice.store + ": tenant " + UntrustedText(choice.options.tenant).for_log() + " has no seal"});
  }
  const auto check = check_seal(**store, **seal, context.pool());
  if (!check && check.error().code == ErrorCode::kCorrupt) {
    if (context.json) print({{"holds", false}, {"problem", check.error().message}});
    context.fail(check.error());
    return kAnswerIsNo;
  }
  if (!check) return context.fail(check.error());
  if (context.json) {
    Json out = {{"holds", check->holds()}};
    out.update(seal_json(**seal));
    out.update({{"changed", check->changed}, {"missing", check->missing}, {"unsealed", check->unsealed}});
    print(out);
  } else {
    std::cout << seal_text(**seal) << (check->holds() ? "it holds\n" : "the store has changed since:\n");
    const auto list = [](const char* what, const std::vector<std::string>& ids) {
      for (const std::string& id : ids) std::cout << "  " << what << ' ' << UntrustedText(id).for_log() << '\n';
    };
    list("changed", check->changed);
    list("missing", check->missing);
    list("trusted, not sealed", check->unsealed);
  }
  return check->holds() ? kDone : kAnswerIsNo;
}

int run(Context& context, const SealChoice& choice) {
  if (!choice.new_key.empty()) return make_key(context, choice);
  if (choice.store.empty()) {
    return context.fail({ErrorCode::kInvalidArgument, "name a store, or make a key with --new-key FILE"});
  }
  if (choice.verify) return verify(context, choice);
  if (choice.key.empty()) {
    return context.fail({ErrorCode::kInvalidArgument,
                         "sealing needs --key KEYFILE (casemate seal --new-key KEYFILE makes one), checking --verify"});
  }
  return make_seal(context, choice);
}

}  // namespace

std::function<int()> set_up_seal(CLI::App& app, Context& context) {
  auto choice = std::make_shared<SealChoice>();
  app.add_option("store", choice->store, "the store's folder");
  app.add_option("--tenant", choice->options.tenant, "whose trusted documents")->capture_default_str();
  auto* key =
      app.add_option("--key", choice->key, "the owner's secret key: seals the trusted documents as they are now");
  auto* made = app.add_option("--new-key", choice->new_key,
                              "make a key: FILE, which its owner alone may read, and FILE.pub for everyone");
  auto* verify = app.add_flag("--verify", choice->verify, "check the seal, and the store against it");
  app.add_option("--public-key", choice->public_key, "with --verify: whose the seal must be (a KEYFILE.pub)")
      ->needs(verify);
  app.add_option("--calibration-passages", choice->options.calibration_passages,
                 "passages whose distance to the nearest other one is measured")
      ->capture_default_str()
      ->needs(key);
  app.add_flag("--force", choice->options.replace_foreign, "also replace a seal of another key, or a damaged one")
      ->needs(key);
  app.add_flag("--repair", choice->options.repair,
               "make the secret for sketches anew where it is lost, damaged or not the sealed one, and seal what was "
               "sealed; refused where a document has changed since")
      ->needs(key);
  key->excludes(verify)->excludes(made);
  made->excludes(verify);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
