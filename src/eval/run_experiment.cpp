#include "casemate/eval/run_experiment.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "casemate/attack/advraggen.h"
#include "casemate/attack/craft_cache.h"
#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/defend/passage_cache.h"
#include "casemate/encoder/encoder.h"
#include "casemate/eval/data_set.h"
#include "eval/calibrate_defences.h"
#include "eval/condition_runner.h"
#include "eval/paraphrase_figures.h"
#include "eval/planted_figures.h"
#include "eval/query_encoder.h"
#include "eval/run_folder.h"
#include "eval/run_texts.h"
#include "eval/summarise.h"
#include "eval/work_store.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

Status write_file(const std::string& path, const std::string& text) {
  return write_file_atomically(FileSystem::posix(), path, text);
}

/// Queries of a condition whose log lines also say what the defences decided about each passage.
constexpr std::size_t kQueriesWithVerdicts = 100;

/// Questions that thresholds are calibrated on.
constexpr std::size_t kCalibrationQuestions = 100;

/// Compares with a sealed corpus, so that it can be made only once there is a seal.
bool needs_seal(const DefenceChoice& choice) { return choice.name == "fingerprint"; }

class ExperimentRun {
 public:
  ExperimentRun(const Experiment& experiment, const EvalParts& parts, const EvalOptions& options, Progress& progress,
                std::stop_token stop)
      : experiment_(experiment),
        parts_(parts),
        options_(options),
        progress_(progress),
        stop_(std::move(stop)),
        conditions_(experiment.conditions()) {}

  Result<EvalRun> run() {
    if (Status loaded = load(); !loaded) return loaded.error();
    if (Status folder = claim_folder(); !folder) return folder.error();
    if (Status counted = count_done(); !counted) return counted.error();
    for (std::size_t a = 0; a < experiment_.attacks.size(); ++a) {
      if (Status done = run_attack(a); !done) return done.error();
    }
    if (Status summarised = write_summary(); !summarised) return summarised.error();
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return join_path(options_.out, name); }
  [[nodiscard]] std::string log_path(const Condition& condition) const {
    return path("queries/" + condition.file_name() + ".jsonl");
  }

  Status load() {
    auto data = load_data_set(experiment_.data);
    if (!data) return data.error();
    data_ = *std::move(data);
    if (Status fits = check_metrics(); !fits) return fits;
    for (const std::string& problem : data_.problems) progress_.note("left out: " + problem);
    if (data_.broken + data_.repeated + data_.without_gold > 0) {
      progress_.note("left out of the data set: " + std::to_string(data_.broken) + " broken records, " +
                     std::to_string(data_.repeated) + " repeated questions, " + std::to_string(data_.without_gold) +
                     " questions without their passage");
    }
    const int count = options_.quick ? experiment_.quick_questions : experiment_.questions;
    for (const std::size_t index :
         sample_questions(data_.questions.size(), static_cast<std::size_t>(count), experiment_.seed)) {
      asked_.push_back(data_.questions[index]);
      if (!data_.judgements.empty()) asked_judgements_.push_back(data_.judgements[index]);
      asked_ids_.push_back(asked_.back().query_id);
    }
    shrink_corpus(data_, asked_ids_, static_cast<std::size_t>(experiment_.corpus), experiment_.seed);
    return {};
  }

  /// Without answering passages a recall would be 0 whatever is found.
  Status check_metrics() const {
    if (data_.has_gold) return {};
    for (const EvalMetric metric : experiment_.metrics) {
      if (is_about_poison(metric.measure)) continue;
      return Error{ErrorCode::kInvalidOption,
                   eval_metric_name(metric) + " needs to know which passage answers, and this data set does not say; " +
                       "asr@k, targeted-asr@k, poison-share@k and poison-rank@k do not"};
    }
    return {};
  }

  /// Makes the folder, or checks that what it holds is this experiment.
  Status claim_folder() {
    ordered_json metrics = ordered_json::array();
    for (const EvalMetric metric : experiment_.metrics) metrics.push_back(eval_metric_name(metric));
    ordered_json conditions = ordered_json::array();
    for (const Condition& condition : conditions_) conditions.push_back(condition.name());
    const EncoderInfo& encoder = parts_.encoder->info();
    ordered_json claim = ordered_json{{"name", experiment_.name},          {"seed", experiment_.seed},
                                      {"questions", asked_.size()},        {"top_k", experiment_.top_k},
                                      {"metrics", std::move(metrics)},     {"conditions", std::move(conditions)},
                                      {"data", to_hex(data_.digest)},      {"encoder", to_valid_utf8(encoder.model)},
                                      {"encoder_hash", encoder.model_hash}};
    if (parts_.judge != nullptr) claim["judge"] = to_valid_utf8(encoder_label(parts_.judge->info()));
    return claim_run_folder(options_.out, {"queries", "attacks", "work"}, claim.dump(1) + "\n");
  }

  Status count_done() {
    for (const Condition& condition : conditions_) {
      const auto done = resume_log(log_path(condition), asked_ids_);
      if (!done) return done.error();
      done_.push_back(*done);
      out_.already += *done;
    }
    return {};
  }

  /// Store, vectors, defences: needed where any query is still to be asked. Defences are made once for nothing, so that
  /// a bad one is told before the long work.
  Status prepare() {
    if (store_) return {};
    auto store = WorkStore::open(path("work/store"), *parts_.encoder);
    if (!store) return store.error();
    store_.emplace(*std::move(store));
    cache_ = make_store_passage_cache(store_->store());
    DefenceServices services;
    services.encoder = parts_.encoder;
    services.model = parts_.model;
    services.reranker = parts_.reranker;
    services.store = &store_->store();
    services.cache = cache_.get();
    services.pool = parts_.pool;
    std::vector<const DefenceChoice*> sealed;
    for (const auto& chain : experiment_.defences) {
      for (const DefenceChoice& choice : chain) {
        if (needs_seal(choice)) {
          sealed.push_back(&choice);
          continue;
        }
        const auto entry = find_defence(choice.name);
        if (!entry) return entry.error();
        if (!(*entry)->scans) {
          if (const auto made = create_defence(choice, services); !made) return made.error();
          continue;
        }
        auto made = create_scan_defence(choice, services);
        if (!made) return made.error();
        const std::string kind = (*made)->recipe().kind();
        const bool known = std::any_of(recipes_.begin(), recipes_.end(),
                                       [&kind](const VectorRecipe* each) { return each->kind() == kind; });
        if (known) continue;
        recipes_.push_back(&(*made)->recipe());
        scans_.push_back(*std::move(made));
      }
    }
    const bool trusted = !sealed.empty();
    const auto corpus = corpus_file(data_, path("work/corpus.jsonl"));
    if (!corpus) return corpus.error();
    if (Status indexed = store_->index(corpus->first, corpus->second, recipes_, trusted, progress_, stop_); !indexed)
      return indexed;
    if (trusted) {
      if (Status done = store_->seal(*parts_.pool, progress_, stop_); !done) return done;
    }
    for (const DefenceChoice* choice : sealed) {
      if (const auto made = create_defence(*choice, services); !made) return made.error();
    }
    if (Status calibrated = calibrate(services); !calibrated) return calibrated;
    std::vector<std::string_view> texts;
    for (const AttackTarget& query : asked_) {
      // A blank query fails when it is asked, and is logged as such.
      if (query.query.bytes().find_first_not_of(" \t\r\n") != std::string::npos)
        texts.emplace_back(query.query.bytes());
    }
    return embeddings_.add(*parts_.encoder, texts, progress_, stop_);
  }

  /// What chains leave to calibration is measured on questions that are not asked.
  Status calibrate(const DefenceServices& services) {
    const std::set<std::string_view> asked(asked_ids_.begin(), asked_ids_.end());
    std::vector<const AttackTarget*> others;
    for (const AttackTarget& question : data_.questions) {
      if (!asked.contains(question.query_id)) others.push_back(&question);
    }
    std::vector<AttackTarget> drawn;
    for (const std::size_t index : sample_questions(others.size(), kCalibrationQuestions, experiment_.seed))
      drawn.push_back(*others[index]);
    const CalibrationWork work{&store_->store(), services, kWorkTenant, drawn, experiment_.top_k, experiment_.seed};
    const auto found = calibrate_defences(experiment_.defences, work, progress_, stop_);
    if (!found) return found.error();
    return *found == "[]" ? Status() : write_file(path("calibrations.json"), *found + "\n");
  }

  [[nodiscard]] std::string attack_path(std::size_t index) const {
    const Condition named{experiment_.attacks[index], "", index, 0};
    return path("attacks/" + named.file_name() + ".jsonl");
  }

  [[nodiscard]] bool is_done(std::size_t attack) const {
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
      if (conditions_[c].attack_index == attack && done_[c] != asked_.size()) return false;
    }
    return true;
  }

  Status run_attack(std::size_t index) {
    if (is_done(index)) {  // what was planted need not be crafted again, which may take long
      const auto planted = read_planted(attack_path(index));
      if (planted) {
        planted_.push_back(*planted);
        return {};
      }
    }
    std::unique_ptr<Attack> attack;
    CraftedAttack crafted;
    if (experiment_.attacks[index] != "none") {
      const auto choice = parse_attack(experiment_.attacks[index]);
      if (!choice) return choice.error();
      auto made = create_attack(*choice);
      if (!made) return made.error();
      attack = *std::move(made);
      if (!craft_cache_) {
        auto cache = open_craft_cache(path("work/crafted.jsonl"));
        if (!cache) return cache.error();
        craft_cache_ = *std::move(cache);
      }
      AttackInput input{data_.passages, attack->aims_at_each_query() ? asked_ : data_.questions, experiment_.seed};
      input.tools = {parts_.encoder, parts_.judge, parts_.model, craft_cache_.get(), parts_.pool, &progress_};
      auto documents = attack->craft(input, stop_);
      if (!documents) return documents.error();
      crafted = *std::move(documents);
      if (Status written = write_attack(index, *attack, crafted); !written) return written;
    }
    planted_.push_back(planted_of(crafted));
    bool planted = false;
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
      if (conditions_[c].attack_index != index || done_[c] == asked_.size()) continue;
      if (Status prepared = prepare(); !prepared) return prepared;
      if (!planted && !crafted.documents.empty()) {
        if (Status in = store_->plant(crafted.documents, recipes_, progress_, stop_); !in) return in;
      }
      planted = true;
      if (Status asked = ask(c, attack.get(), crafted); !asked) return asked;
    }
    return planted ? store_->remove_planted() : Status();
  }

  Status write_attack(std::size_t index, const Attack& attack, const CraftedAttack& crafted) {
    std::string text;
    for (const CraftedDocument& document : crafted.documents) text += attack_record_json(attack, document) + "\n";
    if (text.empty()) return {};
    return write_file(attack_path(index), text);
  }

  Status ask(std::size_t index, const Attack* attack, const CraftedAttack& crafted) {
    const Condition& condition = conditions_[index];
    const auto encoder =
        make_query_encoder(*parts_.encoder, embeddings_,
                           attack != nullptr && attack->disturbs_queries() ? attack : nullptr, experiment_.seed);
    PipelineParts parts;
    parts.store = &store_->store();
    parts.encoder = encoder.get();
    parts.model = parts_.model;
    parts.reranker = parts_.reranker;
    parts.cache = cache_.get();
    parts.pool = parts_.pool;
    auto policy = find_policy("off");
    if (!policy) return policy.error();
    policy->name = condition.defence;
    policy->defences = experiment_.defences[condition.defence_index];
    const auto pipeline = Pipeline::create(parts, *policy);
    if (!pipeline) return pipeline.error().in(condition.name());
    auto log = LogWriter::open(log_path(condition));
    if (!log) return log.error();
    ConditionWork work;
    work.pipeline = pipeline->get();
    work.queries = std::span<const AttackTarget>(asked_).subspan(done_[index]);
    work.planted = crafted.documents;
    work.metrics = experiment_.metrics;
    work.seed = experiment_.seed;
    work.top_k = experiment_.top_k;
    if (!asked_judgements_.empty())
      work.judgements = std::span<const Judgements>(asked_judgements_).subspan(done_[index]);
    work.with_verdicts = kQueriesWithVerdicts - std::min(kQueriesWithVerdicts, done_[index]);
    progress_.begin(condition.name(), work.queries.size(), "queries");
    const auto times = run_condition(work, *log, *parts_.pool, progress_, stop_);
    progress_.end();
    if (!times) return times.error().in(condition.name());
    out_.asked += times->queries;
    return write_times(condition, *times);
  }

  /// Keeps what earlier runs wrote of other conditions.
  Status write_times(const Condition& condition, const ConditionTimes& times) {
    ordered_json all = ordered_json::object();
    if (const auto before = read_file(path("timings.json")); before) {
      auto parsed = ordered_json::parse(*before, nullptr, false);
      if (parsed.is_object()) all = std::move(parsed);
    }
    all[condition.name()] = {{"queries", times.queries},
                             {"seconds", times.seconds},
                             {"p50_ms", times.p50_ms},
                             {"p95_ms", times.p95_ms},
                             {"threads", parts_.pool->threads()}};
    return write_file(path("timings.json"), all.dump(1) + "\n");
  }

  Status write_summary() {
    EvalSummary& summary = out_.summary;
    summary.experiment = experiment_.name;
    summary.description = experiment_.description;
    summary.encoder = parts_.encoder->info().model;
    summary.seed = experiment_.seed;
    summary.passages = data_.passages.size();
    summary.questions = asked_.size();
    summary.of_questions = data_.questions.size();
    summary.top_k = experiment_.top_k;
    summary.quick = options_.quick;
    summary.metrics = experiment_.metrics;
    std::vector<LoggedValues> logs;
    std::vector<std::string> log_paths;
    for (const Condition& condition : conditions_) {
      log_paths.push_back(log_path(condition));
      auto log = read_log(log_path(condition), experiment_.metrics);
      if (!log) return log.error();
      logs.push_back(*std::move(log));
      ConditionSummary entry;
      entry.condition = condition;
      const PlantedFigures& planted = planted_[condition.attack_index];
      entry.planted = planted.documents;
      entry.fell_back = planted.fell_back;
      entry.similarity = planted.similarity;
      if (condition.attack.starts_with("advraggen")) {
        auto paraphrases = read_paraphrase_figures(attack_path(condition.attack_index), log_path(condition));
        if (!paraphrases) return paraphrases.error();
        entry.paraphrases = *std::move(paraphrases);
      }
      summary.conditions.push_back(std::move(entry));
    }
    if (Status done = summarise(summary, logs, *parts_.pool); !done) return done;
    if (Status written = write_run_texts(options_.out, data_, asked_, log_paths); !written) return written;
    if (Status written = write_file(path("summary.json"), to_json(summary) + "\n"); !written) return written;
    if (Status written = write_file(path("summary.csv"), to_csv(summary)); !written) return written;
    return write_file(path("summary.md"), to_markdown(summary));
  }

  const Experiment& experiment_;
  const EvalParts& parts_;
  const EvalOptions& options_;
  Progress& progress_;
  std::stop_token stop_;
  std::vector<Condition> conditions_;
  DataSet data_;
  std::vector<AttackTarget> asked_;
  std::vector<Judgements> asked_judgements_;  ///< empty where one passage answers each
  std::vector<std::string> asked_ids_;
  std::vector<std::size_t> done_;        ///< queries logged, by condition
  std::vector<PlantedFigures> planted_;  ///< by attack
  std::unique_ptr<CraftCache> craft_cache_;
  std::optional<WorkStore> store_;
  std::unique_ptr<PassageCache> cache_;
  std::vector<std::unique_ptr<ScanDefence>> scans_;
  std::vector<const VectorRecipe*> recipes_;
  QueryEmbeddings embeddings_;
  EvalRun out_;
};

}  // namespace

Result<EvalRun> run_experiment(const Experiment& experiment, const EvalParts& parts, const EvalOptions& options,
                               Progress& progress, std::stop_token stop) {
  if (parts.encoder == nullptr || parts.pool == nullptr)
    return Error{ErrorCode::kInvalidArgument, "an experiment needs an encoder and a thread pool"};
  if (options.out.empty()) return Error{ErrorCode::kInvalidArgument, "an experiment needs a folder to write into"};
  return ExperimentRun(experiment, parts, options, progress, std::move(stop)).run();
}

}  // namespace casemate
