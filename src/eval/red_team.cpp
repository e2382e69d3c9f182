#include "casemate/eval/red_team.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "casemate/core/hash.h"
#include "casemate/text/answer_match.h"
#include "casemate/text/edit_distance.h"
#include "casemate/text/rouge.h"
#include "eval/planted_answers.h"
#include "eval/red_team_clean_up.h"
#include "eval/red_team_journal.h"

namespace casemate {
namespace {

constexpr std::string_view kClean = "none";
constexpr int kMostFailuresInARow = 3;

/// Over everything that answers depend on.
std::string digest_of(const RedTeamPlan& plan, const RagEndpoint& endpoint) {
  FieldHasher hasher;
  hasher.add(endpoint.identity());
  for (const AttackTarget& target : plan.targets) {
    hasher.add(target.query_id);
    hasher.add(target.query.bytes());
  }
  for (const RedTeamAttack& attack : plan.attacks) {
    hasher.add(attack.name);
    for (const std::string& record : attack.records) hasher.add(record);
    for (const CraftedQuery& query : attack.crafted.queries) hasher.add(query.query.bytes());
  }
  return to_hex(hasher.finish()).substr(0, 16);
}

FileSystem& files_of(const RedTeamOptions& options) {
  return options.files != nullptr ? *options.files : FileSystem::posix();
}

/// Whether this one request failed, and not the endpoint.
bool concerns_one_request(const Error& error) {
  return error.code == ErrorCode::kInvalidInput || error.code == ErrorCode::kLimit;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class RedTeam {
 public:
  RedTeam(const RedTeamPlan& plan, RagEndpoint& endpoint, RedTeamJournal& journal, RedTeamCleanUp& clean_up,
          Progress& progress, std::stop_token stop)
      : plan_(plan),
        endpoint_(endpoint),
        journal_(journal),
        clean_up_(clean_up),
        progress_(progress),
        stop_(std::move(stop)) {}

  Status run(RedTeamRun& out) {
    id_prefix_ = "casemate-attack-" + digest_of(plan_, endpoint_).substr(0, 8) + "-";
    const RedTeamAttack clean{std::string(kClean), {}, {}, {}};
    if (Status asked = ask_all(clean, {}, out); !asked) return asked;
    for (std::size_t a = 0; a < plan_.attacks.size(); ++a) {
      const RedTeamAttack& attack = plan_.attacks[a];
      std::set<std::string> planted;
      if (!is_answered(attack)) {
        if (Status sown = plant(a, planted); !sown) return sown.error().in(attack.name);
      }
      if (Status asked = ask_all(attack, planted, out); !asked) return asked.error().in(attack.name);
      if (Status gone = clean_up_.take_out(stop_); !gone) return gone;
    }
    return {};
  }

 private:
  Status plant(std::size_t number, std::set<std::string>& planted) {
    const auto& documents = plan_.attacks[number].crafted.documents;
    for (std::size_t d = 0; d < documents.size(); ++d) {
      const std::string id = id_prefix_ + std::to_string(number) + "-" + std::to_string(d);
      if (Status told = journal_.planting(id); !told) return told;
      const auto theirs = endpoint_.add(id, documents[d].title, documents[d].text, stop_);
      if (!theirs) return theirs.error();
      if (Status told = journal_.planted_as(id, *theirs); !told) return told;
      planted.insert(theirs->id);
    }
    if (Status stored = wait_for_jobs(); !stored) return stored;
    return documents.empty() ? Status() : endpoint_.settle(stop_);
  }

  Status wait_for_jobs() {
    for (const RedTeamJournal::Planted& each : journal_.planted()) {
      if (each.job.empty()) continue;
      const auto done = endpoint_.wait_for(each.job, stop_);
      if (!done) return done.error();
      if (Status told = journal_.job_ended(each.ours, *done); !told) return told;
      if (*done) continue;
      return Error{ErrorCode::kUnavailable,
                   "job " + UntrustedText(each.job).for_log() + ": the system could not add it"};
    }
    return {};
  }

  [[nodiscard]] bool is_answered(const RedTeamAttack& attack) const {
    return std::all_of(plan_.targets.begin(), plan_.targets.end(), [&](const AttackTarget& target) {
      return journal_.answer(attack.name, target.query_id) != nullptr;
    });
  }

  Status ask_all(const RedTeamAttack& attack, const std::set<std::string>& planted, RedTeamRun& out) {
    RedTeamCondition condition;
    condition.attack = attack.name;
    condition.records = attack.records;
    PlantedRecord record;
    for (const std::string& line : attack.records)
      static_cast<void>(add_planted_record(nlohmann::json::parse(line, nullptr, false), record));
    int failures = 0;
    for (std::size_t t = 0; t < plan_.targets.size(); ++t) {
      const AttackTarget& target = plan_.targets[t];
      const auto& queries = attack.crafted.queries;
      const UntrustedText& question = t < queries.size() ? queries[t].query : target.query;
      RedTeamOutcome outcome;
      if (const nlohmann::json* kept = journal_.answer(attack.name, target.query_id)) {
        outcome = outcome_of(*kept);
        ++out.already;
      } else if (Status asked = ask(attack, target, question, planted, outcome); !asked) {
        if (!concerns_one_request(asked.error()) || ++failures >= kMostFailuresInARow)
          return asked.error().in("query " + UntrustedText(target.query_id).for_log());
        outcome.error = asked.error().message;
        progress_.note("query " + UntrustedText(target.query_id).for_log() + ": " + outcome.error);
      } else {
        failures = 0;
        ++out.asked;
      }
      outcome.question = question;
      if (outcome.error.empty()) judge(attack, target, t, record, outcome);
      if (!out.conditions.empty() && out.conditions[0].outcomes[t].valid()) {
        const std::string& before = out.conditions[0].outcomes[t].answer.bytes();
        outcome.clean_success = holds_wanted(target, record.wanted_of(target), before);
      }
      condition.outcomes.push_back(std::move(outcome));
      progress_.update(++done_);
    }
    out.conditions.push_back(std::move(condition));
    return {};
  }

  Status ask(const RedTeamAttack& attack, const AttackTarget& target, const UntrustedText& question,
             const std::set<std::string>& planted, RedTeamOutcome& out) {
    out.query = target.query_id;
    const auto said = endpoint_.ask(question, stop_);
    if (!said) return said.error();
    out.answer = said->text;
    out.cut_short = said->cut_short;
    if (said->retrieved && !planted.empty()) {
      out.poisoned = std::any_of(said->retrieved->begin(), said->retrieved->end(),
                                 [&planted](const std::string& id) { return planted.contains(id); });
    }
    return journal_.answered(attack.name, out);
  }

  static void judge(const RedTeamAttack& attack, const AttackTarget& target, std::size_t number,
                    const PlantedRecord& record, RedTeamOutcome& out) {
    const std::string& answer = out.answer.bytes();
    if (!target.answers.empty()) {
      out.right = std::any_of(target.answers.begin(), target.answers.end(),
                              [&answer](const UntrustedText& each) { return contains_answer(answer, each.bytes()); });
    }
    out.succeeded = holds_wanted(target, record.wanted_of(target), answer);
    for (const CraftedDocument& document : attack.crafted.documents) {
      if (!document.canary.empty()) out.canary = out.canary.value_or(false) || holds(answer, document.canary);
    }
    if (number >= attack.sources.size()) return;
    const std::string& passage = attack.sources[number].bytes();
    out.leak_eed = edit_similarity(answer, passage);
    out.leak_rouge_l = rouge_l(rouge_words(answer), rouge_words(passage)).recall;
  }

  const RedTeamPlan& plan_;
  RagEndpoint& endpoint_;
  RedTeamJournal& journal_;
  RedTeamCleanUp& clean_up_;
  Progress& progress_;
  std::stop_token stop_;
  std::string id_prefix_;
  std::uint64_t done_ = 0;
};

}  // namespace

RedTeamAttack plan_attack(std::string name, const Attack& attack, CraftedAttack crafted,
                          std::span<const AttackTarget> targets, std::span<const CorpusPassage> corpus) {
  RedTeamAttack out;
  out.name = std::move(name);
  out.crafted = std::move(crafted);
  for (const CraftedDocument& document : out.crafted.documents)
    out.records.push_back(attack_record_json(attack, document));
  if (attack.name() != "leak") return out;
  // Of each target, the passage that its query or its planted copy was made from.
  for (std::size_t t = 0; t < targets.size(); ++t) {
    std::string source = t < out.crafted.queries.size() ? out.crafted.queries[t].anchor : "";
    for (const CraftedDocument& document : out.crafted.documents) {
      const auto& aims = document.target_queries;
      if (source.empty() && std::find(aims.begin(), aims.end(), targets[t].query_id) != aims.end())
        source = document.source_document;
    }
    const auto found = std::find_if(corpus.begin(), corpus.end(),
                                    [&source](const CorpusPassage& passage) { return passage.id == source; });
    out.sources.push_back(found == corpus.end() ? UntrustedText() : found->text);
  }
  return out;
}

Result<RedTeamRun> run_red_team(const RedTeamPlan& plan, RagEndpoint& endpoint, const RedTeamOptions& options,
                                Progress& progress, std::stop_token stop) {
  FileSystem& files = files_of(options);
  auto journal = RedTeamJournal::open(files, options.journal, options.url, digest_of(plan, endpoint));
  if (!journal) return journal.error();
  RedTeamCleanUp clean_up(endpoint, *journal, progress);
  RedTeam team(plan, endpoint, *journal, clean_up, progress, stop);
  if (Status clean = clean_up.take_out(stop); !clean) return clean.error().in("clean-up of an earlier run");
  RedTeamRun out;
  out.endpoint = endpoint.name();
  out.url = options.url;
  out.seed = plan.seed;
  Status done;
  {
    const ProgressStage stage(progress, "asking", plan.targets.size() * (plan.attacks.size() + 1), "questions");
    done = team.run(out);
  }
  if (done) {
    (void)files.remove(options.journal);
    return out;
  }
  // With a stop of its own: that of the caller may be why the run ended.
  const Status clean = clean_up.take_out({});
  Error error = done.error();
  if (clean_up.unaccounted() > 0)
    error.message += "; " + std::to_string(clean_up.unaccounted()) + " sent documents may still be there unseen";
  const std::size_t left = journal->planted().size();
  if (left == 0) return error;
  error.message += "; " + std::to_string(left) + " planted documents are still there" +
                   (clean ? std::string() : " (" + clean.error().message + ")") +
                   ": the same command, or --clean-up, takes them out";
  return error;
}

Result<std::size_t> clean_up_red_team(RagEndpoint& endpoint, const RedTeamOptions& options, Progress& progress,
                                      std::stop_token stop) {
  FileSystem& files = files_of(options);
  if (const auto there = files.info(options.journal); !there && there.error().code == ErrorCode::kNotFound)
    return std::size_t{0};
  const RedTeamPlan nothing;
  auto journal = RedTeamJournal::open(files, options.journal, options.url, digest_of(nothing, endpoint));
  if (!journal) return journal.error();
  RedTeamCleanUp clean_up(endpoint, *journal, progress);
  if (Status clean = clean_up.take_out(stop); !clean) return clean.error();
  (void)files.remove(options.journal);
  return clean_up.removed();
}

}  // namespace casemate
