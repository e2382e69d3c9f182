#include <algorithm>
#include <filesystem>
#include <iostream>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/encoder/heads.h"
#include "casemate/eval/answer_experiment.h"
#include "casemate/eval/composed_experiment.h"
#include "casemate/eval/export.h"
#include "casemate/eval/leakage_experiment.h"
#include "casemate/eval/reading_experiment.h"
#include "casemate/eval/report.h"
#include "casemate/eval/run_experiment.h"
#include "casemate/eval/run_texts.h"
#include "command.h"
#include "eval_gates.h"
#include "language_model_choice.h"
#include "paraphrase_judge.h"
#include "run_outputs.h"

namespace casemate::cli {
namespace {

struct EvalChoice {
  std::string experiment;
  std::string out;
  std::string data;
  std::string encoder;
  std::string precision;
  std::string reranker;
  std::string judge;
  std::string keyword_model;
  bool quick = false;
  LanguageModelChoice model;
  RunOutputs outputs;
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

/// The same data set and corpus where they lie. Error: as find_data.
Result<DataSource> find_data(const EvalChoice& choice, DataSource source) {
  auto path = find_data(choice, source.path);
  if (!path) return path.error();
  source.path = *std::move(path);
  if (source.corpus_format.empty()) return source;
  auto corpus_path = find_data(choice, source.corpus_path);
  if (!corpus_path) return corpus_path.error();
  source.corpus_path = *std::move(corpus_path);
  return source;
}

/// `named` is the experiment's; empty: the default one.
EncoderChoice encoder_choice(const EvalChoice& choice, const std::string& named) {
  EncoderChoice out;
  out.encoder = choice.encoder.empty() ? named : choice.encoder;
  out.precision = choice.precision;
  return out;
}

/// NAME.published.json beside NAME.yaml holds what papers printed; it goes into the folder, where the report finds it.
Status keep_published(const EvalChoice& choice, const std::string& out) {
  const std::string path = std::filesystem::path(choice.experiment).replace_extension(".published.json").string();
  const auto content = read_file(path, UINT64_C(16) << 20U);
  if (!content) return content.error().code == ErrorCode::kNotFound ? Status() : Status(content.error());
  return write_file_atomically(FileSystem::posix(), join_path(out, "published.json"), *content);
}

/// What every finished run gets, whatever its kind: the report, exports and gates. Returns the exit code.
int finish_run(Context& context, const EvalChoice& choice, const std::string& out) {
  if (Status kept = keep_published(choice, out); !kept) return context.fail(kept.error());
  if (Status written = write_report(out); !written) return context.fail(written.error());
  const auto run = read_run_record(out);
  return run ? write_run_outputs(context, choice.outputs, *run) : context.fail(run.error());
}

bool paraphrases(const Experiment& experiment) {
  return std::any_of(experiment.attacks.begin(), experiment.attacks.end(),
                     [](const std::string& attack) { return attack.starts_with("advraggen"); });
}

bool asks_model(const Experiment& experiment) {
  if (!experiment.methods.empty()) return true;
  for (const auto& chain : experiment.defences) {
    for (const DefenceChoice& defence : chain) {
      if (needs_model(defence) || prepares_with_model(defence)) return true;
    }
  }
  for (const std::string& attack : experiment.attacks) {
    const auto choice = attack == "none" ? Result<AttackChoice>(AttackChoice{}) : parse_attack(attack);
    const auto entry = choice ? find_attack(choice->name) : Result<const AttackEntry*>(choice.error());
    if (entry && (*entry)->uses_model) return true;
  }
  return false;
}

/// BLAKE2b-256 hex of the names and contents of a folder's files.
Result<std::string> digest_of_folder(const std::string& folder) {
  auto names = FileSystem::posix().list(folder);
  if (!names) return names.error();
  std::sort(names->begin(), names->end());
  std::string all;
  for (const std::string& name : *names) {
    const std::string path = join_path(folder, name);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    const auto content = read_file(path, UINT64_C(64) << 30U);
    if (!content) return content.error();
    all += name + "\n" + to_hex(blake2b(*content)) + "\n";
  }
  return to_hex(blake2b(all));
}

/// A finished experiment about rankings, or about what was read from them.
struct Evaluated {
  std::string json;
  std::string markdown;
  std::string said;
};

Result<Evaluated> evaluate(Context& context, const EvalChoice& choice, const std::string& out) {
  auto experiment = load_experiment(choice.experiment);
  if (!experiment) return experiment.error();
  if (Status checked = check_gates(choice.outputs, *experiment); !checked) return checked.error();
  auto data = find_data(choice, experiment->data);
  if (!data) return data.error();
  experiment->data = *std::move(data);
  const EncoderChoice wanted = encoder_choice(choice, experiment->encoder);
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
  if (reranker) {
    auto digest = digest_of_folder(choice.reranker);
    if (!digest) return digest.error();
    parts.reranker_digest = *std::move(digest);
  }
  std::unique_ptr<Encoder> judge;
  if (paraphrases(*experiment)) {
    auto loaded = load_paraphrase_judge(context, **encoder, wanted, choice.judge);
    if (!loaded) return loaded.error();
    judge = *std::move(loaded);
  }
  parts.judge = judge.get();
  parts.encoder = encoder->get();
  parts.model = model.get();
  parts.reranker = reranker.get();
  parts.pool = &context.pool();
  const EvalOptions options{out, choice.quick};
  if (!experiment->methods.empty()) {
    const auto read = run_reading_experiment(*experiment, parts, options, context.progress(), context.stop);
    if (!read) return read.error();
    return Evaluated{run_json(*read), run_markdown(*read), "everything is in " + out};
  }
  const auto done = run_experiment(*experiment, parts, options, context.progress(), context.stop);
  if (!done) return done.error();
  return Evaluated{to_json(done->summary) + "\n", to_markdown(done->summary),
                   "asked " + std::to_string(done->asked) + " queries, " + std::to_string(done->already) +
                       " were logged already; everything is in " + out};
}

Result<AnswerRun> evaluate_answers(Context& context, const EvalChoice& choice, const YamlValue& root,
                                   const std::string& out) {
  const auto experiment = read_answer_experiment(root);
  if (!experiment) return experiment.error();
  if (Status checked = check_gates(choice.outputs, *experiment); !checked) return checked.error();
  const auto data = find_data(choice, experiment->data_path);
  if (!data) return data.error();
  const auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  auto done = run_answer_experiment(*experiment, **model, {*data, out, choice.quick}, context.progress(), context.stop);
  if (!done) return done;
  const auto texts = load_answer_set(experiment->data_format, *data,
                                     {static_cast<std::size_t>(experiment->passages), experiment->seed});
  if (!texts) return texts.error();
  const Status written = write_answer_texts(out, *texts, static_cast<std::size_t>(experiment->passages));
  return written ? std::move(done) : Result<AnswerRun>(written.error());
}

Result<AnswerRun> evaluate_composed(Context& context, const EvalChoice& choice, const YamlValue& root,
                                    const std::string& out) {
  auto experiment = read_composed_experiment(root);
  if (!experiment) return experiment.error();
  const auto gates = parse_gates(choice.outputs);
  if (!gates) return gates.error();
  auto data = find_data(choice, experiment->data);
  if (!data) return data.error();
  experiment->data = *std::move(data);
  const EvalOptions options{out, choice.quick};
  const EncoderChoice wanted = encoder_choice(choice, experiment->encoder);
  const auto encoder = context.load_encoder(wanted);
  if (!encoder) return encoder.error();
  const auto model = load_language_model(context, choice.model);
  if (!model) return model.error();
  EvalParts parts;
  parts.encoder = encoder->get();
  parts.model = model->get();
  parts.pool = &context.pool();
  return run_composed_experiment(*experiment, parts, options, context.progress(), context.stop);
}

int run_answers(Context& context, const EvalChoice& choice, const YamlValue& root, const std::string& out) {
  const auto done = is_composed_experiment(root) ? evaluate_composed(context, choice, root, out)
                                                 : evaluate_answers(context, choice, root, out);
  if (!done) return context.fail(done.error());
  const int code = finish_run(context, choice, out);
  std::cout << (context.json ? to_json(done->summary) + "\n" : to_markdown(done->summary, true));
  context.say("asked " + std::to_string(done->asked) + " questions, " + std::to_string(done->already) +
              " were logged already; everything is in " + out);
  return code;
}

int run_leakage(Context& context, const EvalChoice& choice, const YamlValue& root, const std::string& out) {
  auto experiment = read_leakage_experiment(root);
  if (!experiment) return context.fail(experiment.error());
  if (Status checked = check_gates(choice.outputs, *experiment); !checked) return context.fail(checked.error());
  auto data = find_data(choice, experiment->data);
  if (!data) return context.fail(data.error());
  experiment->data = *std::move(data);
  const auto encoder = context.load_encoder(encoder_choice(choice, ""));
  if (!encoder) return context.fail(encoder.error());
  const auto model = load_language_model(context, choice.model);
  if (!model) return context.fail(model.error());
  const auto backbone = load_keyword_model(context, choice.keyword_model);
  if (!backbone) return context.fail(backbone.error());
  const LeakageParts parts{encoder->get(), model->get(), backbone->get()};
  const auto done = run_leakage_experiment(*experiment, parts, out, choice.quick, context.progress(), context.stop);
  if (!done) return context.fail(done.error());
  const int code = finish_run(context, choice, out);
  std::cout << (context.json ? to_json(*done) : to_markdown(*done));
  context.say("asked " + std::to_string(done->asked) + " questions, " + std::to_string(done->already) +
              " were logged already; everything is in " + out);
  return code;
}

int run(Context& context, const EvalChoice& choice) {
  const std::string out =
      choice.out.empty() ? "runs/" + std::filesystem::path(choice.experiment).stem().string() : choice.out;
  const auto root = YamlValue::parse_file(choice.experiment);
  if (!root) return context.fail(root.error());
  if (is_leakage_experiment(*root)) return run_leakage(context, choice, *root, out);
  if (is_answer_experiment(*root) || is_composed_experiment(*root)) return run_answers(context, choice, *root, out);
  const auto done = evaluate(context, choice, out);
  if (!done) return context.fail(done.error());
  const int code = finish_run(context, choice, out);
  std::cout << (context.json ? done->json : done->markdown);
  context.say(done->said);
  return code;
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
  app.add_option("--precision", choice->precision,
                 "what the encoder computes in: float32 (default), or fixed16, faster with AVX-512 VNNI");
  app.add_option(
      "--judge", choice->judge,
      "advraggen: encoder that judges likeness to the document, by name or folder (default: the same encoder "
      "with its other pooling)");
  app.add_option(
      "--keyword-model", choice->keyword_model,
      "kind: leakage: small language model that finds keywords; default: smollm2-135m-instruct-q4_1 where it is "
      "installed, else the answering model");
  app.add_option("--reranker", choice->reranker,
                 "folder of a SequenceClassification model, for rerank by cross-encoder");
  add_language_model_options(app, choice->model);
  add_run_outputs(app, choice->outputs);
  return [choice, &context] { return run(context, *choice); };
}

}  // namespace casemate::cli
