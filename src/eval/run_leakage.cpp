#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "casemate/core/elapsed.h"
#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/core/utf8.h"
#include "casemate/eval/leakage_experiment.h"
#include "casemate/generate/question.h"
#include "casemate/llm/language_model.h"
#include "eval/leakage_answers.h"
#include "eval/leakage_corpus.h"
#include "eval/leakage_figures.h"
#include "eval/leakage_scores.h"
#include "eval/query_log.h"
#include "eval/run_folder.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

/// One log: a mode under a case with an instruction.
struct LeakageSlot {
  std::size_t mode = 0;
  LeakCase which = LeakCase::kClean;
  LeakInstruction instruction = LeakInstruction::kNative;
  std::string file;
  std::size_t done = 0;
};

std::vector<LeakageSlot> slots_of(const LeakageExperiment& experiment) {
  std::vector<LeakageSlot> out;
  for (const LeakCase which : experiment.cases) {
    for (std::size_t m = 0; m < experiment.modes.size(); ++m) {
      for (const LeakInstruction instruction : experiment.instructions) {
        const bool clean = which == LeakCase::kClean;
        if (clean && instruction != experiment.instructions.front()) continue;
        out.push_back({m, which, instruction,
                       std::to_string(m) + "-" + experiment.modes[m].name + "-" + std::string(leak_case_name(which)) +
                           (clean ? "" : "-" + std::string(leak_instruction_name(instruction))) + ".jsonl"});
      }
    }
  }
  std::stable_partition(out.begin(), out.end(), [](const LeakageSlot& slot) { return slot.which == LeakCase::kClean; });
  return out;
}

/// Of the style file that a mode names, by its content; empty where it names none.
Result<std::string> style_digest(const SanitizerChoice& mode) {
  const auto options = YamlValue::parse(mode.options, mode.name);
  if (!options) return options.error();
  const auto named = options->find("style_file");
  if (!named) return std::string();
  const auto file = named->text();
  if (!file) return file.error();
  if (file->empty()) return std::string();
  const auto content = read_file(*file);
  return content ? Result<std::string>(to_hex(blake2b(*content))) : Result<std::string>(content.error());
}

class LeakageExperimentRun {
 public:
  LeakageExperimentRun(const LeakageExperiment& experiment, const LeakageParts& parts, const LeakageCorpus& corpus,
                       const LeakageAnswers& answers, std::string out, Progress& progress, std::stop_token stop)
      : experiment_(experiment),
        parts_(parts),
        corpus_(corpus),
        answers_(answers),
        out_(std::move(out)),
        progress_(progress),
        stop_(std::move(stop)),
        slots_(slots_of(experiment)) {}

  Result<LeakageRun> run() {
    if (Status claimed = claim_folder(); !claimed) return claimed.error();
    LeakageRun done;
    for (LeakageSlot& slot : slots_) {
      const auto logged = resume_log(path("queries/" + slot.file), corpus_.ids());
      if (!logged) return logged.error();
      slot.done = *logged;
      done.already += *logged;
    }
    progress_.begin("answers", slots_.size() * corpus_.ids().size(), "answers");
    std::uint64_t reported = 0;
    for (std::size_t q = 0; q < corpus_.ids().size(); ++q) {
      bool prepared = false;
      for (const LeakageSlot& slot : slots_) {
        if (slot.which != LeakCase::kClean && !std::exchange(prepared, true)) {
          if (Status ready = prepare(q, reported); !ready) return ready.error();
        }
        if (slot.done <= q) {
          if (Status asked = ask(slot, corpus_.questions()[q]); !asked) return asked.error();
          ++done.asked;
        }
        show(++reported);
      }
    }
    progress_.end();
    if (Status summed = summarise(done); !summed) return summed.error();
    FileSystem& files = FileSystem::posix();
    for (const auto& [name, text] : {std::pair{"summary.json", to_json(done)}, std::pair{"summary.csv", to_csv(done)},
                                     std::pair{"summary.md", to_markdown(done)}}) {
      if (Status kept = write_file_atomically(files, path(name), text); !kept) return kept.error();
    }
    return done;
  }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return join_path(out_, name); }

  Status claim_folder() {
    ordered_json modes = ordered_json::array();
    for (const SanitizerChoice& mode : experiment_.modes) {
      modes.push_back(mode.name + mode.options);
      const auto style = style_digest(mode);
      if (!style) return style.error();
      if (!style->empty()) modes.back() = {{"mode", modes.back()}, {"style", *style}};
    }
    ordered_json guard;
    if (experiment_.guard) {
      guard = {{"reaction", guard_reaction_name(experiment_.guard->reaction)},
               {"max_run_words", experiment_.guard->max_run_words},
               {"max_share", experiment_.guard->max_share},
               {"share_run_words", experiment_.guard->share_run_words}};
    }
    ordered_json files = ordered_json::array();
    for (const LeakageSlot& slot : slots_) files.push_back(slot.file);
    const auto name_of = [](const LanguageModel* model) {
      if (model == nullptr) return ordered_json();
      return ordered_json{{"name", to_valid_utf8(model->info().name)}, {"hash", model->info().file_hash}};
    };
    const std::string text = ordered_json{{"kind", "leakage"},
                                          {"name", experiment_.name},
                                          {"seed", experiment_.seed},
                                          {"questions", corpus_.ids().size()},
                                          {"corpus", corpus_.passages()},
                                          {"passages", experiment_.passages},
                                          {"max_new_tokens", experiment_.max_new_tokens},
                                          {"modes", std::move(modes)},
                                          {"logs", std::move(files)},
                                          {"guard", std::move(guard)},
                                          {"data", to_hex(corpus_.digest())},
                                          {"encoder", parts_.encoder->info().model_hash},
                                          {"model", name_of(parts_.model)},
                                          {"backbone", name_of(parts_.backbone)},
                                          {"prompts", to_hex(prompt_hash(AnswerTask::kShortAnswer))}}
                                 .dump(1) +
                             "\n";
    return claim_run_folder(out_, {"queries"}, text);
  }

  /// All that is asked about one question, side by side. Clean questions are not among it: they come before, one by
  /// one, so that a mode's time is its own.
  Status prepare(std::size_t question, std::uint64_t reported) {
    std::vector<LeakQuestion> asked;
    // By mode, so that what two modes have in common is there when the second one asks for it.
    for (std::size_t mode = 0; mode < experiment_.modes.size(); ++mode) {
      for (const LeakageSlot& slot : slots_) {
        if (slot.mode != mode || slot.which == LeakCase::kClean || slot.done > question) continue;
        const auto text = corpus_.ask(slot.which, slot.instruction, corpus_.questions()[question], stop_);
        if (!text) continue;  // told when it is asked
        auto chunks = corpus_.retrieve(*text, experiment_.passages);
        if (chunks) asked.push_back({mode, static_cast<std::size_t>(slot.which), text->text, *std::move(chunks)});
      }
    }
    return answers_.prepare(asked, stop_, [&](std::size_t ready) { show(reported + ready); });
  }

  /// What is prepared counts as done, and is asked for from memory afterwards.
  void show(std::uint64_t answers) {
    if (answers > shown_) progress_.update(shown_ = answers);
  }

  Status ask(const LeakageSlot& slot, const AttackTarget& question) {
    ordered_json line = {{"query", to_valid_utf8(question.query_id)}};
    const auto begin = std::chrono::steady_clock::now();
    const double saved = answers_.saved_seconds();
    const Status outcome = measured(slot, question, line);
    if (!outcome) {
      if (outcome.error().code == ErrorCode::kCancelled) return outcome;
      line["error"] = to_valid_utf8(outcome.error().message);
    } else {
      seconds_[slot.file].push_back(seconds_since(begin) + answers_.saved_seconds() - saved);
    }
    auto log = LogWriter::open(path("queries/" + slot.file));
    if (!log) return log.error();
    return log->append(line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  }

  Status measured(const LeakageSlot& slot, const AttackTarget& question, ordered_json& line) const {
    const auto asked = corpus_.ask(slot.which, slot.instruction, question, stop_);
    if (!asked) return asked.error();
    const auto chunks = corpus_.retrieve(*asked, experiment_.passages);
    if (!chunks) return chunks.error();
    const auto made = answers_.answer(slot.mode, asked->text, *chunks, stop_);
    if (!made) return made.error();
    line["answer"] = to_valid_utf8(made->text);
    line["withheld"] = made->withheld;
    if (slot.which != LeakCase::kClean) return score_leak(*parts_.encoder, *made, *chunks, line);
    score_use(question, *made, line);
    return {};
  }

  Status summarise(LeakageRun& done) {
    std::map<std::pair<LeakCase, std::size_t>, LeakageRow> leaks;
    for (const LeakageSlot& slot : slots_) {
      const std::string mode = leakage_mode_name(experiment_.modes[slot.mode]);
      const std::string log = path("queries/" + slot.file);
      if (slot.which == LeakCase::kClean) {
        auto use = read_utility(log, mode, experiment_.seed);
        if (!use) return use.error();
        const std::vector<double>& times = seconds_[slot.file];
        if (!times.empty() && times.size() == use->questions) use->seconds = median(times);
        done.utility.push_back(*std::move(use));
        continue;
      }
      LeakageRow& row = leaks[{slot.which, slot.mode}];
      row.mode = mode;
      row.which = slot.which;
      if (Status added = add_instruction(log, leak_instruction_name(slot.instruction), experiment_.seed, row); !added)
        return added;
    }
    for (auto& [key, row] : leaks) done.leakage.push_back(std::move(row));
    return {};
  }

  static double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  const LeakageExperiment& experiment_;
  const LeakageParts& parts_;
  const LeakageCorpus& corpus_;
  const LeakageAnswers& answers_;
  std::string out_;
  Progress& progress_;
  std::stop_token stop_;
  std::vector<LeakageSlot> slots_;
  std::map<std::string, std::vector<double>> seconds_;
  std::uint64_t shown_ = 0;
};

}  // namespace

Result<LeakageRun> run_leakage_experiment(const LeakageExperiment& experiment, const LeakageParts& parts,
                                          const std::string& out, bool quick, Progress& progress,
                                          std::stop_token stop) {
  if (parts.encoder == nullptr || parts.model == nullptr)
    return Error{ErrorCode::kInvalidArgument, "a leakage experiment needs an encoder and a language model"};
  const auto loaded = LeakageCorpus::load(experiment, *parts.encoder, quick);
  if (!loaded) return loaded.error();
  const auto answers = LeakageAnswers::create(experiment, parts);
  if (!answers) return answers.error();
  return LeakageExperimentRun(experiment, parts, *loaded, *answers, out, progress, std::move(stop)).run();
}

}  // namespace casemate
