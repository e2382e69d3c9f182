#include <iostream>

#include "casemate/eval/answer_experiment.h"
#include "command.h"
#include "language_model_choice.h"

namespace casemate::cli {
namespace {

struct CertifyChoice {
  std::string data;
  std::string format = "realtimeqa";
  std::vector<std::string> methods = {"keyword"};
  std::vector<int> malicious = {1};
  std::vector<std::string> threats = {"injection"};
  int passages = 10;
  int questions = 0;
  std::uint64_t seed = 42;
  bool live = false;
  std::string out = "runs/certify";
  LanguageModelChoice model;
};

Result<AnswerExperiment> experiment_of(const CertifyChoice& choice) {
  AnswerExperiment out;
  out.name = "certify";
  out.description = "Certificates over a data set.";
  out.data_format = choice.format;
  out.data_path = choice.data;
  out.seed = choice.seed;
  out.questions = choice.questions;
  out.passages = choice.passages;
  out.live = choice.live;
  out.attacks.push_back({"none"});
  for (const std::string& text : choice.methods) {
    auto method = parse_answer_method(text);
    if (!method) return method.error();
    if (!method->aggregates()) {
      return Error{ErrorCode::kInvalidOption,
                   text +
                       " answers from everything at once, so nothing can be certified; methods are voting, keyword "
                       "and decoding"};
    }
    out.methods.push_back(*std::move(method));
  }
  for (const std::string& threat : choice.threats) {
    CertifyBudget budget;
    if (threat == threat_name(PassageThreat::kModification)) budget.threat = PassageThreat::kModification;
    for (const int malicious : choice.malicious) {
      if (malicious > choice.passages) return Error{ErrorCode::kInvalidOption, "--malicious is more than --passages"};
      budget.malicious = malicious;
      out.budgets.push_back(budget);
    }
  }
  return out;
}

Result<AnswerRun> certify(Context& context, const CertifyChoice& choice) {
  const auto experiment = experiment_of(choice);
  if (!experiment) return experiment.error();
  const auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  return run_answer_experiment(*experiment, **model, {choice.data, choice.out, false}, context.progress(),
                               context.stop);
}

int run(Context& context, const CertifyChoice& choice) {
  const auto done = certify(context, choice);
  if (!done) return context.fail(done.error());
  std::cout << (context.json ? to_json(done->summary) + "\n" : to_markdown(done->summary, true));
  context.say("answered " + std::to_string(done->asked) + " questions, " + std::to_string(done->already) +
              " were logged already; each question's certificate is in " + choice.out + "/queries");
  return kDone;
}

}  // namespace

std::function<int()> set_up_certify(CLI::App& app, Context& context) {
  auto choice = std::make_shared<CertifyChoice>();
  app.add_option("data", choice->data, "questions with their passages and answers")->required();
  app.add_option("--format", choice->format,
                 "of the data: realtimeqa, jsonl, musique, squad and others (docs/evaluation.md)")
      ->capture_default_str();
  app.add_option("--method", choice->methods,
                 "voting, keyword or decoding, or 'NAME{option: value, ...}' (docs/robust-generation.md); may be given "
                 "again")
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--malicious", choice->malicious, "how many passages are the attacker's; may be given again")
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 10))
      ->capture_default_str();
  app.add_option("--threat", choice->threats, "injection, modification; may be given again")
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"injection", "modification"}))
      ->capture_default_str();
  app.add_option("--passages", choice->passages, "of each question, the first so many")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--questions", choice->questions, "how many, drawn under the seed; 0: all")
      ->check(CLI::Range(0, 100'000'000));
  app.add_option("--seed", choice->seed, "of that draw")->capture_default_str();
  app.add_flag("--live", choice->live, "also certify each answer as it is, without the right one");
  app.add_option("--out", choice->out, "folder for logs and summaries; what is there already is not done again")
      ->capture_default_str();
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
