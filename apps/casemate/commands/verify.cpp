#include "casemate/certify/verify.h"

#include <iostream>

#include "casemate/core/file_system.h"
#include "casemate/pipeline/replay.h"
#include "command.h"
#include "language_model_choice.h"

namespace casemate::cli {
namespace {

struct VerifyChoice {
  std::string file;
  std::string key;
  std::string replay;  ///< a store; empty: the file alone is checked
  std::string tenant = "default";
  std::vector<std::string> options;
  LanguageModelChoice model;
};

/// Asks the model again over the store's passages; its checks join those of the file.
Status replay(Context& context, const VerifyChoice& choice, Verification& found) {
  const auto store = context.open_store(choice.replay, true);
  if (!store) return store.error();
  const auto passages = find_passages(**store, choice.tenant, found.certificate, context.progress(), context.stop);
  if (!passages) return passages.error();
  const auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  std::vector<UntrustedText> options;
  for (const std::string& option : choice.options) options.emplace_back(option);
  auto checks = replay_certificate(found.certificate, *passages, options, **model, context.stop);
  if (!checks) return checks.error();
  for (CertificateCheck& check : *checks) found.checks.push_back(std::move(check));
  // Replaying settles what the model says, not who signed it or what retrieval found.
  std::erase_if(found.not_checked,
                [](const std::string& sentence) { return sentence.find("--replay") != std::string::npos; });
  if (found.certificate.retrieval) found.not_checked.emplace_back("that retrieval gives these lists");
  return {};
}

void print_verification(const Verification& found) {
  const Certificate& certificate = found.certificate;
  std::cout << "certificate by " << method_name(certificate) << "\n";
  if (certificate.question.text) std::cout << "question  " << certificate.question.text->for_log() << '\n';
  std::cout << "answer    " << certificate.answer.for_log() << "\nclaim     " << claim_of(certificate) << '\n';
  for (const CertificateCheck& check : found.checks) {
    std::cout << (check.holds ? "  ok      " : "  FAILED  ") << check.what;
    if (!check.detail.empty()) std::cout << " (" << check.detail << ")";
    std::cout << '\n';
  }
  for (const std::string& sentence : assumptions_of(certificate)) std::cout << "ASSUMES: " << sentence << '\n';
  for (const std::string& sentence : not_covered_by(certificate)) std::cout << "NOT COVERED: " << sentence << '\n';
  for (const std::string& sentence : found.not_checked) std::cout << "NOT CHECKED: " << sentence << '\n';
  std::cout << (found.holds() ? "it holds\n" : "it does not hold\n");
}

int run(Context& context, const VerifyChoice& choice) {
  VerifyOptions options;
  if (!choice.key.empty()) {
    const auto key = load_public_key(choice.key);
    if (!key) return context.fail(key.error());
    options.key = *key;
  }
  const auto file = read_file(choice.file, kMaxCertificateBytes);
  if (!file) {
    context.fail(file.error());
    return kWrongUse;  // also where the disk is to blame: without the bytes there is nothing to say
  }
  auto found = verify_certificate(*file, options);
  if (!found) {
    context.fail(found.error().in(UntrustedText(choice.file).for_log()));
    return kWrongUse;
  }
  if (!choice.replay.empty()) {
    if (Status replayed = replay(context, choice, *found); !replayed) return context.fail(replayed.error());
  }
  if (context.json) {
    std::cout << to_json(*found) << '\n';
  } else {
    print_verification(*found);
  }
  return found->holds() ? kDone : kAnswerIsNo;
}

}  // namespace

std::function<int()> set_up_verify(CLI::App& app, Context& context) {
  auto choice = std::make_shared<VerifyChoice>();
  app.add_option("certificate", choice->file, "the certificate, a JSON file")->required();
  app.add_option("--key", choice->key,
                 "whose certificate it must be (a KEYFILE.pub); without it the signer is not checked");
  app.add_option("--replay", choice->replay,
                 "a store: also find the passages there, ask the model again and compare (needs the model)");
  app.add_option("--tenant", choice->tenant, "whose passages, for --replay")->capture_default_str();
  app.add_option("--option", choice->options, "an option of a multiple choice, A first, for --replay");
  add_language_model_options(app, choice->model);
  return [&context, choice] { return run(context, *choice); };
}

}  // namespace casemate::cli
