#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/server/audit_log.h"
#include "casemate/core/untrusted_text.h"
#include "command.h"

namespace casemate::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AuditChoice {
  std::string file;
  std::string key;
};

int run_verify(Context& context, const AuditChoice& choice) {
  std::optional<PublicKey> key;
  if (!choice.key.empty()) {
    const auto loaded = load_public_key(choice.key);
    if (!loaded) return context.fail(loaded.error());
    key = *loaded;
  }
  const auto found = server::verify_audit(choice.file, key);
  if (!found) return context.fail(found.error());
  const bool holds = found->problems.empty();
  if (context.json) {
    const Json out = {{"holds", holds},
                      {"records", found->records},
                      {"signed_up_to", found->signed_up_to},
                      {"public_key", found->public_key.empty() ? Json() : Json(found->public_key)},
                      {"problems", found->problems}};
    std::cout << out.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    return holds ? kDone : kAnswerIsNo;
  }
  for (const std::string& problem : found->problems) std::cout << UntrustedText(problem).for_log(400) << '\n';
  std::cout << found->records << " records follow each other; signed up to record " << found->signed_up_to;
  if (found->records > found->signed_up_to)
    std::cout << " (whether records after the last one were cut off cannot be seen)";
  std::cout << (holds ? "\nit holds\n" : "\nit does not hold\n");
  return holds ? kDone : kAnswerIsNo;
}

}  // namespace

std::function<int()> set_up_audit(CLI::App& app, Context& context) {
  auto choice = std::make_shared<AuditChoice>();
  app.require_subcommand(1);
  CLI::App* verify = app.add_subcommand("verify", "whether an audit was changed, and up to where that can be seen");
  verify->add_option("file", choice->file, "the file that casemate serve --audit wrote; its heads are beside it")
      ->required();
  verify->add_option("--key", choice->key, "whose heads they must be (a KEYFILE.pub)");
  return [choice, &context] { return run_verify(context, *choice); };
}

}  // namespace casemate::cli
