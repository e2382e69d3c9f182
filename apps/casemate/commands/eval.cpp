#include <filesystem>
#include <iostream>

#include "casemate/encoder/heads.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/run_experiment.h"
#include "command.h"
#include "language_model_choice.h"

namespace casemate::cli {
namespace {

struct EvalChoice {
  std::string experiment;
  std::string out;
  std::string data;
  std::string encoder;
  std::string reranker;
  bool quick = false;
  LanguageModelChoice model;
};

/// A relative path of a data set lies in --data, or else beside the experiment's file. Error: NotFound, with both.
Result<std::string> find_data(const EvalChoice& choice, const std::string& written) {
  namespace fs = std::filesystem;
  const fs::path path(written);
  if (path.is_absolute()) return written;
  std::vector<fs::path> places;
  if (!choice.data.empty()) places.push_back(fs::path(choice.data) / path);
  places.push_back(fs::path(choice.experiment).parent_path() / path);
  std::string looked;
  for (const fs::path& place : places) {
    std::error_code ignored;
    if (fs::exists(place, ignored)) return place.string();
    looked += (looked.empty() ? "" : " and ") + place.string();
  }
  return Error{ErrorCode::kNotFound, choice.experiment + ": the data set " + written + " is not at " + looked +
                                         "; name the folder of data sets with --data or CASEMATE_DATA"};
}

bool asks_model(const Experiment& experiment) {
  for (const auto& chain : experiment.defences) {
    for (const DefenceChoice& defence : chain) {
      if (needs_model(defence)) return true;
    }
  }
  for (const std::string& attack : experiment.attacks) {
    const auto choice = attack == "none" ? Result<AttackChoice>(AttackChoice{}) : parse_attack(attack);
    const auto entry = choice ? find_attack(choice->name) : Result<const AttackEntry*>(choice.error());
    if (entry && (*entry)->uses_model) return true;
  }
  return false;
}

Result<EvalRun> evaluate(Context& context, const EvalChoice& choice, const std::string& out) {
  const auto experiment = load_experiment(choice.experiment);
  if (!experiment) return experiment.error();
  const auto data = find_data(choice, experiment->data_path);
  if (!data) return data.error();
  EncoderChoice wanted;
  wanted.encoder = choice.encoder.empty() ? experiment->encoder : choice.encoder;
  const auto encoder = context.load_encoder(wanted);
  if (!encoder) return encoder.error();
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<Reranker> reranker;
  if (asks_model(*experiment)) {
    auto loaded = load_language_model(context, choice.model);
    if (!loaded) return loaded.error();
    model = *std::move(loaded);
  }
  if (!choice.reranker.empty()) {
    auto loaded = load_reranker(choice.reranker, {}, context.pool());
    if (!loaded) return loaded.error();
    reranker = *std::move(loaded);
  }
  EvalParts parts;
  parts.encoder = encoder->get();
  parts.model = model.get();
  parts.reranker = reranker.get();
  parts.pool = &context.pool();
  EvalOptions options;
  options.data = *data;
  options.out = out;
  options.quick = choice.quick;
  return run_experiment(*experiment, parts, options, context.progress(), context.stop);
}

Result<AnswerRun> evaluate_answers(Context& context, const EvalChoice& choice, const YamlValue& root,
                                   const std::string& out) {
  const auto experiment = read_answer_experiment(root);
  if (!experiment) return experiment.error();
  const auto data = find_data(choice, experiment->data_path);
  if (!data) return data.error();
  const auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  return run_answer_experiment(*experiment, **model, {*data, out, choice.quick}, context.progress(), context.stop);
}

int run_answers(Context& context, const EvalChoice& choice, const YamlValue& root, const std::string& out) {
  const auto done = evaluate_answers(context, choice, root, out);
  if (!done) return context.fail(done.error());
  std::cout << (context.json ? to_json(done->summary) + "\n" : to_markdown(done->summary, true));
  context.say("asked " + std::to_string(done->asked) + " questions, " + std::to_string(done->already) +
              " were logged already; everything is in " + out);
  return kDone;
}

int run(Context& context, const EvalChoice& choice) {
  const std::string out =
      choice.out.empty() ? "runs/" + std::filesystem::path(choice.experiment).stem().string() : choice.out;
  const auto root = YamlValue::parse_file(choice.experiment);
  if (!root) return context.fail(root.error());
  if (is_answer_experiment(*root)) return run_answers(context, choice, *root, out);
  const auto done = evaluate(context, choice, out);
  if (!done) return context.fail(done.error());
  std::cout << (context.json ? to_json(done->summary) + "\n" : to_markdown(done->summary));
  context.say("asked " + std::to_string(done->asked) + " queries, " + std::to_string(done->already) +
              " were logged already; everything is in " + out);
  return kDone;
}

}  // namespace

std::function<int()> set_up_eval(CLI::App& app, Context& context) {
  auto choice = std::make_shared<EvalChoice>();
  app.add_option("experiment", choice->experiment, "the experiment's YAML file")->required();
  app.add_option("--out", choice->out,
                 "folder for logs and summaries; what is there already is not done again (default: runs/<file name>)");
  app.add_flag("--quick", choice->quick, "a smaller sample of questions (quick_questions)");
  app.add_option("--data", choice->data, "folder of the data sets that experiments name");
  app.add_option("--encoder", choice->encoder, "another encoder than the experiment's, by name or folder");
  app.add_option("--reranker", choice->reranker,
                 "folder of a SequenceClassification model, for rerank by cross-encoder");
  add_language_model_options(app, choice->model);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
