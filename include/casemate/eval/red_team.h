// casemate/eval/red_team.h
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/file_system.h"
#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// An attack, crafted, ready to be planted.
struct RedTeamAttack {
  std::string name;  ///< as written, with its options
  CraftedAttack crafted;
  std::vector<std::string> records;    ///< attack.jsonl's line of each document
  std::vector<UntrustedText> sources;  ///< leak: the passage that each target wants to see, else empty
};

struct RedTeamPlan {
  std::vector<AttackTarget> targets;  ///< at least one, with different ids
  std::vector<RedTeamAttack> attacks;
  std::uint64_t seed = 0;
};

/// Makes the entry of a crafted attack. `corpus` holds the passages that it was crafted from.
[[nodiscard]] RedTeamAttack plan_attack(std::string name, const Attack& attack, CraftedAttack crafted,
                                        std::span<const AttackTarget> targets, std::span<const CorpusPassage> corpus);

/// What one question gave under one attack.
struct RedTeamOutcome {
  std::string query;
  UntrustedText question;  ///< as it was asked
  UntrustedText answer;
  bool cut_short = false;
  std::optional<bool> poisoned;   ///< a planted document among the retrieved; unset where the system does not tell
  std::optional<bool> succeeded;  ///< a wanted answer in the answer; unset where that says nothing
  std::optional<bool> clean_success{};  ///< the same of the valid answer without the attack
  std::optional<bool> right;            ///< unset where no right answer is known
  std::optional<bool> canary;           ///< a planted canary in the answer; unset where the attack has none
  std::optional<double> leak_eed;       ///< edit similarity with the passage that the attack wants to see
  std::optional<double> leak_rouge_l;   ///< recall of that passage's words, as a longest common subsequence
  std::string error;                    ///< why there is no answer; empty where there is one
  /// Neither empty nor cut short.
  [[nodiscard]] bool valid() const { return !cut_short && !answer.empty(); }
};

struct RedTeamCondition {
  std::string attack;  ///< "none": before anything was planted
  std::vector<RedTeamOutcome> outcomes;
  std::vector<std::string> records;  ///< of what was planted
};

struct RedTeamRun {
  std::string endpoint;
  std::string url;
  std::uint64_t seed = 0;
  std::vector<RedTeamCondition> conditions;  ///< clean first
  std::size_t asked = 0;
  std::size_t already = 0;  ///< answered before, by an earlier run that was stopped
};

struct RedTeamOptions {
  std::string url;              ///< of the endpoint, for the journal and the report
  std::string journal;          ///< path; what is planted stands there, on the disk, before it is sent
  FileSystem* files = nullptr;  ///< the journal's; not owned, outlives the call; null: the real one
};

/// Asks each question without an attack, then, for each attack: plants its documents, asks again, takes them out.
/// Questions of attacks that make queries of their own are these.
///
/// The journal names each document before it is planted. Whatever ends a run (an error, a stop, a kill) leaves it: the
/// next call with the same journal first takes out what is still there, then goes on behind the last answer, where the
/// plan and the endpoint's `identity` are the same, or begins anew. After an error or a stop this call itself takes out
/// what it planted, as far as the endpoint still answers; the error says how many are left. A finished run removes the
/// journal. A question that the endpoint refuses, or answers with something that is no answer, is counted as failed and
/// asked again by a later run; three in a row end the run. Error: Mismatch where the journal is of another endpoint;
/// what the endpoint says.
[[nodiscard]] Result<RedTeamRun> run_red_team(const RedTeamPlan& plan, RagEndpoint& endpoint,
                                              const RedTeamOptions& options, Progress& progress, std::stop_token stop);

/// Takes out what a journal says is still planted. Returns how many documents; 0 without a journal. Those that may be
/// there, but cannot be found, are told as progress. Error: as above; the journal keeps what could not be taken out.
[[nodiscard]] Result<std::size_t> clean_up_red_team(RagEndpoint& endpoint, const RedTeamOptions& options,
                                                    Progress& progress, std::stop_token stop);

/// Metrics that a gate may name.
[[nodiscard]] std::vector<std::string> red_team_metrics();
/// Rates with Wilson's intervals, for tables, gates and exports. Metrics: asr (poison retrieved), attack_success (a
/// wanted answer in a valid answer), clean_success (already in the answer without the attack), right (of valid
/// answers), valid, empty, cut_short, leak_canary, leak_eed, leak_rouge_l (means; of answers that are not
/// empty, and leak_canary of a cut answer only where it is there).
[[nodiscard]] RunRecord red_team_record(const RedTeamRun& run);
/// {redteam, endpoint, url, seed, asked, already, conditions: [{attack, queries, failed, planted, metrics, documents,
/// outcomes}]}.
[[nodiscard]] std::string to_json(const RedTeamRun& run);

}  // namespace casemate
