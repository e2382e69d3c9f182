#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

#include "open_pipeline.h"

namespace casemate::cli {
namespace {

/// What all stages together say about one passage.
struct Row {
  std::string document;
  std::optional<int> rank;
  std::optional<int> undefended;
  std::optional<double> votes;
  std::size_t masks = 0;
  std::string verdict;  ///< of the stage that dropped, moved or masked it last
};

std::optional<double> measure(const Verdict& verdict, std::string_view name) {
  for (const auto& [key, value] : verdict.measures) {
    if (key == name) return value;
  }
  return {};
}

void take(const StageEvidence& stage, const Verdict& verdict, Row& row) {
  if (!verdict.document.empty()) row.document = verdict.document;
  if (const auto rank = measure(verdict, "undefended_rank")) {
    row.undefended = static_cast<int>(*rank);
    return;
  }
  if (const auto votes = measure(verdict, "votes")) row.votes = *votes;
  row.masks += verdict.masked.size();
  if (verdict.decision != Decision::kKept)
    row.verdict = std::string(decision_name(verdict.decision)) + " by " + stage.stage + ": " + verdict.reason;
}

std::string cell(const std::optional<int>& value) { return value ? std::to_string(*value) : "-"; }

void print_table(std::span<const Hit> hits, const Evidence& evidence) {
  std::map<ChunkId, Row> rows;
  std::vector<ChunkId> order;
  for (const Hit& hit : hits) {
    rows[hit.id].rank = hit.rank;
    rows[hit.id].document = hit.document;
    order.push_back(hit.id);
  }
  for (const StageEvidence& stage : evidence.stages) {
    for (const Verdict& verdict : stage.verdicts) {
      if (!rows.contains(verdict.chunk)) order.push_back(verdict.chunk);
      take(stage, verdict, rows[verdict.chunk]);
    }
  }
  std::cout << "\nrank  undefended  votes  masks  passage / document / verdict\n";
  for (const ChunkId id : order) {
    const Row& row = rows.at(id);
    std::ostringstream votes;
    if (row.votes) votes << *row.votes;
    std::cout << std::setw(4) << cell(row.rank) << std::setw(12) << cell(row.undefended) << std::setw(7)
              << (row.votes ? votes.str() : "-") << std::setw(7)
              << (row.masks > 0 ? std::to_string(row.masks) : std::string("-")) << "  " << id << "  "
              << UntrustedText(row.document).for_log(50);
    if (!row.verdict.empty()) std::cout << "  " << UntrustedText(row.verdict).for_log(160);
    std::cout << '\n';
  }
}

void print_spans(const Verdict& verdict) {
  if (verdict.masked.empty()) return;
  std::cout << "            masked characters:";
  for (const CharacterSpan& span : verdict.masked) std::cout << ' ' << span.begin << '-' << span.end;
  std::cout << '\n';
}

void print_stage(const StageEvidence& stage) {
  std::cout << "\nstage " << stage.stage << ": " << stage.passages_in << " passages in, " << stage.passages_out
            << " out\n";
  for (const auto& [name, value] : stage.parameters)
    std::cout << "  " << name << " = " << UntrustedText(value).for_log() << '\n';
  for (const std::string& note : stage.notes) std::cout << "  note: " << UntrustedText(note).for_log(400) << '\n';
  for (const Verdict& verdict : stage.verdicts) {
    std::cout << "  " << std::left << std::setw(8) << decision_name(verdict.decision) << std::right << std::setw(8)
              << verdict.chunk << "  ";
    if (verdict.score) std::cout << std::fixed << std::setprecision(6) << *verdict.score << "  ";
    if (verdict.threshold) std::cout << "(threshold " << *verdict.threshold << ")  ";
    std::cout << UntrustedText(verdict.document).for_log(60) << "  " << UntrustedText(verdict.reason).for_log();
    if (verdict.copy_of) std::cout << " [passage " << *verdict.copy_of << "]";
    std::cout << '\n';
    print_spans(verdict);
  }
}

}  // namespace

void print_explanation(std::span<const Hit> hits, const Evidence& evidence) {
  print_table(hits, evidence);
  for (const StageEvidence& stage : evidence.stages) print_stage(stage);
}

}  // namespace casemate::cli
