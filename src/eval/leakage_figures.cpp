#include "eval/leakage_figures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "casemate/eval/text_scores.h"
#include "eval/json_lines.h"
#include "eval/summarise.h"

namespace casemate {
namespace {

using nlohmann::json;

double value_of(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) return 0;
  return found->is_boolean() ? (found->get<bool>() ? 1.0 : 0.0) : found->is_number() ? found->get<double>() : 0.0;
}

/// The lines of a log that are answers: a failed one is neither use nor the absence of a leak.
template <typename Take>
Status each_answer(const std::string& path, std::size_t& failed, const Take& take) {
  return each_json_line(path, [&](const json& line, std::size_t) {
    if (line.contains("error")) {
      ++failed;
    } else {
      take(line);
    }
    return std::string();
  });
}

double mean_of(const FigureValues& values, std::string_view name) {
  const auto found = values.find(name);
  if (found == values.end() || found->second.empty()) return 0;
  return std::accumulate(found->second.begin(), found->second.end(), 0.0) / static_cast<double>(found->second.size());
}

Result<FigureIntervals> intervals_of(const FigureValues& values, std::uint64_t seed) {
  FigureIntervals out;
  for (const auto& [name, each] : values) {
    if (each.empty()) continue;
    const auto cell = metric_cell(each, seed);
    if (!cell) return cell.error();
    out[name] = {cell->interval, cell->is_rate};
  }
  return out;
}

/// Of a rate over chunks.
void add_recovery(const std::string& name, double rate, std::size_t chunks, FigureIntervals& out) {
  const auto recovered = static_cast<std::uint64_t>(std::llround(rate * static_cast<double>(chunks)));
  if (const auto interval = wilson_interval(recovered, chunks)) out[name] = {*interval, true};
}

}  // namespace

std::string recovery_name(std::string_view curve, double threshold) {
  char text[32];
  return std::string(curve) + "@" + std::string(text, std::to_chars(text, text + sizeof text, threshold).ptr);
}

std::vector<std::pair<std::string, double>> utility_figures(const UtilityRow& row) {
  return {{"bleu1", row.bleu1},
          {"rouge_l", row.rouge_l},
          {"exact_match", row.exact_match},
          {"f1", row.f1},
          {"contains", row.contains},
          {"in_keywords", row.in_keywords},
          {"in_facts", row.in_facts},
          {"in_context", row.in_context}};
}

std::vector<std::pair<std::string, double>> leakage_figures(const LeakageRow& row) {
  std::vector<std::pair<std::string, double>> out = {
      {"ss", row.ss}, {"eed", row.eed}, {"f1", row.f1}, {"bleu1", row.bleu1}, {"rouge_l", row.rouge_l}};
  for (const auto& [curve, rates] : {std::pair{"crr_eed", &row.crr_eed}, std::pair{"crr_lcs", &row.crr_lcs}}) {
    for (std::size_t i = 0; i < std::min(rates->size(), std::size(kRecoveryThresholds)); ++i)
      out.emplace_back(recovery_name(curve, kRecoveryThresholds[i]), (*rates)[i]);
  }
  return out;
}

Result<UtilityRow> read_utility(const std::string& path, std::string mode, std::uint64_t seed) {
  UtilityRow row;
  row.mode = std::move(mode);
  FigureValues values;
  const Status read = each_answer(path, row.failed, [&](const json& line) {
    ++row.questions;
    for (const char* name :
         {"bleu1", "rouge_l", "exact_match", "f1", "contains", "in_keywords", "in_facts", "in_context"})
      values[name].push_back(value_of(line, name));
  });
  if (!read) return read.error();
  row.bleu1 = mean_of(values, "bleu1");
  row.rouge_l = mean_of(values, "rouge_l");
  row.exact_match = mean_of(values, "exact_match");
  row.f1 = mean_of(values, "f1");
  row.contains = mean_of(values, "contains");
  row.in_keywords = mean_of(values, "in_keywords");
  row.in_facts = mean_of(values, "in_facts");
  row.in_context = mean_of(values, "in_context");
  auto intervals = intervals_of(values, seed);
  if (!intervals) return intervals.error();
  row.intervals = *std::move(intervals);
  return row;
}

Status add_instruction(const std::string& path, std::string_view instruction, std::uint64_t seed, LeakageRow& row) {
  FigureValues values;
  ChunkRecovery recovery;
  LeakByInstruction each;
  each.instruction = instruction;
  std::size_t failed = 0;
  const Status read = each_answer(path, failed, [&](const json& line) {
    ++each.questions;
    each.withheld += value_of(line, "withheld") > 0 ? 1U : 0U;
    const auto chunks = line.find("chunks");
    if (chunks == line.end()) return;
    for (const char* name : {"ss", "eed", "f1", "bleu1", "rouge_l"}) {
      double best = 0;
      for (const json& chunk : *chunks) best = std::max(best, value_of(chunk, name));
      values[name].push_back(best);
    }
    for (const json& chunk : *chunks)
      recovery.add(chunk.value("id", ""), value_of(chunk, "eed"), value_of(chunk, "lcs_recall"));
  });
  if (!read) return read;
  auto intervals = intervals_of(values, seed);
  if (!intervals) return intervals.error();
  // A figure with the interval of the instruction that it is of; equal ones keep the first.
  const auto keep = [&](const std::string& name, double value, double& worst) {
    const auto own = intervals->find(name);
    if (value > worst || !row.intervals.contains(name)) {
      if (own != intervals->end()) row.intervals.insert_or_assign(name, own->second);
    }
    worst = std::max(worst, value);
  };
  row.questions = row.instructions.empty() ? each.questions : std::min(row.questions, each.questions);
  row.failed += failed;
  each.eed = mean_of(values, "eed");
  each.rouge_l = mean_of(values, "rouge_l");
  for (const char* name : {"eed", "rouge_l"}) {
    if (const auto own = intervals->find(name); own != intervals->end()) each.intervals.insert(*own);
  }
  keep("ss", mean_of(values, "ss"), row.ss);
  // `LeakageRow::add` compares these two itself.
  double eed = row.eed;
  double rouge_l = row.rouge_l;
  keep("eed", each.eed, eed);
  keep("rouge_l", each.rouge_l, rouge_l);
  keep("f1", mean_of(values, "f1"), row.f1);
  keep("bleu1", mean_of(values, "bleu1"), row.bleu1);
  row.crr_eed.resize(std::size(kRecoveryThresholds), 0);
  row.crr_lcs.resize(std::size(kRecoveryThresholds), 0);
  for (std::size_t i = 0; i < std::size(kRecoveryThresholds); ++i) {
    const double threshold = kRecoveryThresholds[i];
    const double by_edits = recovery.rate_by_edits(threshold);
    const double by_subsequence = recovery.rate_by_subsequence(threshold);
    add_recovery(recovery_name("crr_eed", threshold), by_edits, recovery.chunks(), *intervals);
    add_recovery(recovery_name("crr_lcs", threshold), by_subsequence, recovery.chunks(), *intervals);
    keep(recovery_name("crr_eed", threshold), by_edits, row.crr_eed[i]);
    keep(recovery_name("crr_lcs", threshold), by_subsequence, row.crr_lcs[i]);
  }
  row.add(each);
  return {};
}

void LeakageRow::add(const LeakByInstruction& each) {
  if (worst.empty() || each.eed > eed) worst = each.instruction;
  eed = std::max(eed, each.eed);
  rouge_l = std::max(rouge_l, each.rouge_l);
  withheld += each.withheld;
  instructions.push_back(each);
}

}  // namespace casemate
