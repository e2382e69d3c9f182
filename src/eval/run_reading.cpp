#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/eval/data_set.h"
#include "casemate/eval/export.h"
#include "casemate/eval/llm_judge.h"
#include "casemate/eval/reading_experiment.h"
#include "eval/passage_reader.h"
#include "eval/planted_answers.h"
#include "eval/query_log.h"
#include "eval/reading_grades.h"
#include "eval/report/run_log.h"
#include "eval/report/run_summary.h"
#include "eval/run_folder.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

constexpr char kRetrieval[] = "retrieval";

class ReadingRun {
 public:
  ReadingRun(const Experiment& experiment, const EvalParts& parts, const EvalOptions& options, Progress& progress,
             std::stop_token stop)
      : experiment_(experiment),
        parts_(parts),
        options_(options),
        progress_(progress),
        stop_(std::move(stop)),
        conditions_(experiment.conditions()) {}

  Result<RunRecord> run() {
    if (Status read = read_methods(); !read) return read.error();
    EvalOptions retrieval = options_;
    retrieval.out = path(kRetrieval);
    auto ranked = run_experiment(experiment_, parts_, retrieval, progress_, stop_);
    if (!ranked) return ranked.error();
    ranked_ = std::move(ranked->summary);
    if (Status loaded = load(); !loaded) return loaded.error();
    if (Status claimed = claim_folder(); !claimed) return claimed.error();
    if (Status asked = ask_all(); !asked) return asked.error();
    return summarise();
  }

 private:
  struct Slot {
    std::size_t condition = 0;
    PassageReader* method = nullptr;
    std::string log;  ///< relative to the folder
    std::size_t done = 0;
    [[nodiscard]] std::string defence(const std::vector<Condition>& conditions) const {
      return conditions[condition].defence + " | " + method->name();
    }
  };

  [[nodiscard]] std::string path(const std::string& name) const { return join_path(options_.out, name); }
  [[nodiscard]] std::string retrieval_path(const std::string& name) const {
    return path(std::string(kRetrieval) + "/" + name);
  }

  Status read_methods() {
    for (const std::string& name : experiment_.methods) {
      auto reader = PassageReader::create(name, *parts_.model, parts_.reranker);
      if (!reader) return reader.error().in("methods");
      readers_.push_back(*std::move(reader));
    }
    return {};
  }

  Status load() {
    auto data = load_data_set(experiment_.data);
    if (!data) return data.error();
    for (CorpusPassage& each : data->passages) passages_[each.id] = {std::move(each.title), std::move(each.text)};
    const int count = options_.quick ? experiment_.quick_questions : experiment_.questions;
    for (const std::size_t index :
         sample_questions(data->questions.size(), static_cast<std::size_t>(count), experiment_.seed)) {
      asked_.push_back(std::move(data->questions[index]));
      ids_.push_back(asked_.back().query_id);
    }
    for (std::size_t a = 0; a < experiment_.attacks.size(); ++a) {
      const Condition named{experiment_.attacks[a], "", a, 0};
      auto planted = read_planted_record(retrieval_path("attacks/" + named.file_name() + ".jsonl"));
      if (!planted) return planted.error();
      planted_.push_back(*std::move(planted));
    }
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
      auto log = read_run_log(retrieval_path("queries/" + conditions_[c].file_name() + ".jsonl"));
      if (!log) return log.error();
      rankings_.push_back(*std::move(log));
      for (std::size_t m = 0; m < readers_.size(); ++m) {
        Condition named = conditions_[c];
        named.defence += " " + readers_[m].name();
        slots_.push_back({c, &readers_[m], "queries/" + std::to_string(m) + "-" + named.file_name() + ".jsonl", 0});
      }
    }
    return {};
  }

  Status claim_folder() {
    const auto retrieval = read_file(retrieval_path("experiment.json"));
    if (!retrieval) return retrieval.error();
    ordered_json text = {{"retrieval", ordered_json::parse(*retrieval, nullptr, false)},
                         {"methods", experiment_.methods},
                         {"passages", experiment_.passages},
                         {"model", to_valid_utf8(parts_.model->info().name)},
                         {"model_hash", parts_.model->info().file_hash},
                         {"prompts", to_hex(prompt_hash(AnswerTask::kShortAnswer))}};
    if (experiment_.judge) text["judge"] = judge_instruction();
    if (parts_.reranker != nullptr) text["reranker"] = parts_.reranker_digest;
    const std::string written = text.dump(1) + "\n";
    return claim_run_folder(options_.out, {"queries"}, written);
  }

  Status ask_all() {
    for (Slot& slot : slots_) {
      const auto done = resume_log(path(slot.log), ids_);
      if (!done) return done.error();
      slot.done = *done;
    }
    progress_.begin("answers", asked_.size() * slots_.size(), "answers");
    std::uint64_t reported = 0;
    // A question at a time, so that what the model read of its passages serves all conditions.
    for (std::size_t q = 0; q < asked_.size(); ++q) {
      for (const Slot& slot : slots_) {
        progress_.update(++reported);
        if (slot.done > q) continue;
        const auto line = answer_line(slot, q);
        if (!line) return line.error();
        auto log = LogWriter::open(path(slot.log));
        if (!log) return log.error();
        if (Status kept = log->append(*line + "\n"); !kept) return kept;
      }
    }
    progress_.end();
    return {};
  }

  /// Passages that a method reads: the first of the ranking.
  std::vector<std::pair<std::string, PromptPassage>> read_of(const Slot& slot, std::size_t q) const {
    std::vector<std::pair<std::string, PromptPassage>> out;
    const nlohmann::json& fields = rankings_[slot.condition][q].fields;
    const auto hits = fields.find("hits");
    if (hits == fields.end()) return out;
    const std::size_t limit = slot.method->reads_one() ? 1 : static_cast<std::size_t>(experiment_.passages);
    const auto& planted = planted_[conditions_[slot.condition].attack_index].passages;
    for (const nlohmann::json& hit : *hits) {
      if (out.size() == limit) break;
      const std::string id = hit.at(0).get<std::string>();
      const auto own = planted.find(id);
      const auto there = passages_.find(id);
      if (own != planted.end()) {
        out.emplace_back(id, own->second);
      } else if (there != passages_.end()) {
        out.emplace_back(id, there->second);
      }
    }
    return out;
  }

  Result<std::string> answer_line(const Slot& slot, std::size_t q) {
    const AttackTarget& query = asked_[q];
    const auto passages = read_of(slot, q);
    std::vector<PromptPassage> texts;
    for (const auto& [id, passage] : passages) texts.push_back(passage);
    ordered_json line = {{"query", to_valid_utf8(query.query_id)}};
    const nlohmann::json& ranked = rankings_[slot.condition][q].fields;
    const auto failed = ranked.find("error");
    if (failed != ranked.end() && !slot.method->reads_none()) {
      line["error"] = "retrieval: " + (failed->is_string() ? failed->get<std::string>() : failed->dump());
      return line.dump();
    }
    const auto reading = read_once(*slot.method, query, texts);
    if (!reading) {
      if (reading.error().code == ErrorCode::kCancelled) return reading.error();
      line["error"] = to_valid_utf8(reading.error().message);
      return line.dump();
    }
    const std::size_t attack = conditions_[slot.condition].attack_index;
    const auto grades = grade_answer({query, planted_[attack].wanted_of(query), texts, reading->text, reading->finish},
                                     experiment_.judge ? parts_.model : nullptr, stop_);
    if (!grades) return grades.error();
    for (const auto& [metric, value] : grades->metrics) line["metrics"][metric] = value;
    if (sanitizes(experiment_)) line["metrics"]["disclosed"] = reading->disclosed;
    if (grades->judge) line["judge"] = grades->judge->for_json();
    line["answer"] = reading->text.for_json();
    copy_ranking(slot, q, passages.size(), line);
    for (const GroupAnswer& group : reading->groups) {
      ordered_json entry = {{"answer", group.text.for_json()}, {"abstains", group.abstains}};
      for (const std::string& keyword : group.keywords) entry["keywords"].push_back(to_valid_utf8(keyword));
      line["groups"].push_back(std::move(entry));
    }
    line["generated_tokens"] = reading->generated_tokens;
    return line.dump();
  }

  /// Conditions often rank the same passages first: what a method answers to them is asked once a question. Reading is
  /// greedy, so that asking again would say the same.
  Result<Reading> read_once(PassageReader& method, const AttackTarget& query, const std::vector<PromptPassage>& texts) {
    if (query.query_id != kept_for_) kept_.clear();
    kept_for_ = query.query_id;
    std::string key = method.name();
    for (const PromptPassage& each : texts) key += "\n" + to_hex(passage_hash(each));
    const auto known = kept_.find(key);
    if (known != kept_.end()) return known->second;
    auto read = method.read(query.query, texts, stop_);
    if (read) kept_.emplace(std::move(key), *read);
    return read;
  }

  /// The passages that were read, with what the defences said of them, for the report.
  void copy_ranking(const Slot& slot, std::size_t q, std::size_t read, ordered_json& line) const {
    const nlohmann::json& fields = rankings_[slot.condition][q].fields;
    line["hits"] = ordered_json::array();
    const auto hits = fields.find("hits");
    for (std::size_t i = 0; hits != fields.end() && i < std::min(read, hits->size()); ++i)
      line["hits"].push_back(ordered_json((*hits)[i]));
    for (const char* field : {"gold", "verdicts"}) {
      if (const auto found = fields.find(field); found != fields.end()) line[field] = ordered_json(*found);
    }
  }

  /// Each condition against the clean one of the same defence and method, against the same without a defence, and
  /// against vanilla behind the same defence.
  std::vector<PlannedComparison> planned() const {
    std::vector<PlannedComparison> out;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Condition& mine = conditions_[slots_[i].condition];
      for (std::size_t k = 0; k < slots_.size(); ++k) {
        const Condition& other = conditions_[slots_[k].condition];
        const bool same_method = slots_[i].method == slots_[k].method;
        const bool same_attack = mine.attack == other.attack;
        const bool same_defence = mine.defence == other.defence;
        if (i == k || other.attack_index > mine.attack_index) continue;
        const bool clean = same_method && same_defence && other.attack == "none";
        const bool undefended = same_method && same_attack && other.defence == "none";
        const bool vanilla = same_attack && same_defence && !same_method && slots_[k].method->name() == "vanilla";
        if (clean) out.push_back({"right", i, k});
        if (!undefended && !vanilla) continue;
        for (const char* metric : {"right", "attack_success", "faithfulness"}) out.push_back({metric, i, k});
      }
    }
    return out;
  }

  /// What the report shows beside the logs.
  Status copy_folder(FileSystem& files, const std::string& folder) const {
    if (Status made = files.create_directories(path(folder)); !made) return made;
    const auto names = files.list(retrieval_path(folder));
    if (!names) return names.error();
    for (const std::string& name : *names) {
      if (!name.ends_with(".jsonl")) continue;
      const auto text = read_file(retrieval_path(folder + "/" + name));
      if (!text) return text.error();
      if (Status kept = write_file_atomically(files, path(folder + "/" + name), *text); !kept) return kept;
    }
    return {};
  }

  Result<RunRecord> summarise() {
    RunRecord run;
    run.folder = options_.out;
    run.name = experiment_.name;
    run.description = experiment_.description;
    run.kind = "reading";
    run.metrics = reading_metrics(experiment_);
    run.facts = {{"encoder", parts_.encoder->info().model},
                 {"model", parts_.model->info().name},
                 {"data", experiment_.data.format},
                 {"passages", std::to_string(ranked_.passages)},
                 {"questions", std::to_string(asked_.size())},
                 {"of_questions", std::to_string(ranked_.of_questions)},
                 {"passages_read", std::to_string(experiment_.passages)},
                 {"seed", std::to_string(experiment_.seed)}};
    if (options_.quick) run.facts.emplace_back("quick", "yes: a small sample, for a look");
    for (const Slot& slot : slots_) {
      RunCondition condition;
      condition.attack = conditions_[slot.condition].attack;
      condition.defence = slot.defence(conditions_);
      condition.log = slot.log;
      condition.planted = planted_[conditions_[slot.condition].attack_index].passages.size();
      run.conditions.push_back(std::move(condition));
    }
    if (Status filled = fill_from_logs(run, planned(), experiment_.seed); !filled) return filled.error();
    FileSystem& files = FileSystem::posix();
    for (const char* folder : {"texts", "attacks"}) {
      if (Status copied = copy_folder(files, folder); !copied) return copied.error();
    }
    if (Status kept = write_file_atomically(files, path("summary.json"), run_summary_json(run)); !kept)
      return kept.error();
    auto whole = read_run_record(options_.out);
    if (!whole) return whole.error();
    if (Status kept = write_file_atomically(files, path("summary.csv"), run_csv(*whole)); !kept) return kept.error();
    if (Status kept = write_file_atomically(files, path("summary.md"), run_markdown(*whole)); !kept)
      return kept.error();
    return whole;
  }

  const Experiment& experiment_;
  const EvalParts& parts_;
  const EvalOptions& options_;
  Progress& progress_;
  std::stop_token stop_;
  std::vector<Condition> conditions_;
  std::vector<PassageReader> readers_;  ///< by method
  EvalSummary ranked_;
  std::map<std::string, PromptPassage, std::less<>> passages_;
  std::vector<AttackTarget> asked_;
  std::vector<std::string> ids_;
  std::vector<PlantedRecord> planted_;             ///< by attack
  std::vector<std::vector<RunLogLine>> rankings_;  ///< by condition
  std::vector<Slot> slots_;
  std::string kept_for_;                 ///< the query whose answers are kept
  std::map<std::string, Reading> kept_;  ///< by method and passages
};

}  // namespace

bool is_reading_experiment(const YamlValue& root) {
  const auto kind = root.find("kind");
  if (!kind) return false;
  const auto text = kind->text();
  return text.ok() && *text == "reading";
}

Result<RunRecord> run_reading_experiment(const Experiment& experiment, const EvalParts& parts,
                                         const EvalOptions& options, Progress& progress, std::stop_token stop) {
  if (parts.model == nullptr) return Error{ErrorCode::kInvalidArgument, "reading needs a language model"};
  if (options.out.empty()) return Error{ErrorCode::kInvalidArgument, "an experiment needs a folder to write into"};
  return ReadingRun(experiment, parts, options, progress, std::move(stop)).run();
}

}  // namespace casemate
