#include "eval/calibrate_defences.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "casemate/defend/calibrated_ragmask.h"
#include "casemate/defend/perplexity.h"
#include "casemate/pipeline/calibrate.h"
#include "casemate/retrieve/retriever.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kFewestQuestions = 20;
constexpr double kPassagesAbovePerplexity = 0.02;
constexpr int kPassagesRead = 200;

Result<Calibration> measure_ragmask(const CalibratedRagMask& ragmask, const CalibrationWork& work, Progress& progress,
                                    std::stop_token stop) {
  std::vector<CalibrationQuestion> questions;
  for (const AttackTarget& each : work.questions) {
    const bool blank = each.query.bytes().find_first_not_of(" \t\r\n") == std::string::npos;
    if (!blank && !each.gold_document.empty()) questions.push_back({each.query, each.gold_document});
  }
  if (questions.size() < kFewestQuestions) {
    return Error{ErrorCode::kInvalidOption,
                 "ragmask with delta auto is calibrated on questions that the experiment does not ask, at least " +
                     std::to_string(kFewestQuestions) + " of which it is known what answers them; here are " +
                     std::to_string(questions.size())};
  }
  const auto retriever = Retriever::create(*work.store, work.services.encoder, {}, *work.services.pool);
  if (!retriever) return retriever.error();
  RagMaskCalibrationOptions options;
  options.ragmask = ragmask.options();
  options.relative = ragmask.relative();
  options.top_k = work.top_k;
  options.seed = work.seed;
  const auto measured = calibrate_ragmask_on(*work.store, *work.services.encoder, **retriever, work.services.cache,
                                             work.tenant, questions, options, progress, std::move(stop));
  if (!measured) return measured.error();
  return ragmask_calibration(*measured, ragmask.options(), ragmask.relative());
}

Result<Calibration> measure_perplexity(const CalibrationWork& work, Progress& progress, std::stop_token stop) {
  LanguageModel& model = *work.services.model;  // `perplexity` cannot be made without one
  const auto measured = calibrate_perplexity(*work.store, work.tenant, model, kPassagesAbovePerplexity, kPassagesRead,
                                             work.seed, progress, std::move(stop));
  if (!measured) return measured.error();
  return perplexity_calibration(*measured, model, kPassagesAbovePerplexity);
}

/// What `defence` is calibrated for; empty where it is not.
std::string setting_of(const RetrievalDefence& defence, const DefenceServices& services) {
  if (const auto* ragmask = dynamic_cast<const CalibratedRagMask*>(&defence))
    return CalibratedRagMask::calibration_setting(ragmask->options(), ragmask->relative());
  if (const auto* perplexity = dynamic_cast<const Perplexity*>(&defence);
      perplexity != nullptr && !perplexity->options().max_perplexity)
    return Perplexity::calibration_setting(*services.model);
  return {};
}

}  // namespace

Result<std::string> calibrate_defences(std::span<const std::vector<DefenceChoice>> chains, const CalibrationWork& work,
                                       Progress& progress, std::stop_token stop) {
  bool any = false;
  for (const auto& chain : chains) {
    for (const DefenceChoice& choice : chain) {
      const auto entry = find_defence(choice.name);
      if (!entry) return entry.error();
      if ((*entry)->scans) continue;
      const auto defence = create_defence(choice, work.services);
      if (!defence) return defence.error();
      const std::string setting = setting_of(**defence, work.services);
      if (setting.empty()) continue;
      any = true;
      if (calibrated_value(work.store, work.tenant, choice.name, setting)) continue;
      const auto* ragmask = dynamic_cast<const CalibratedRagMask*>(defence->get());
      const auto measured = ragmask != nullptr ? measure_ragmask(*ragmask, work, progress, stop)
                                               : measure_perplexity(work, progress, stop);
      if (!measured) return measured.error();
      progress.note("calibrated " + choice.name + ": " + std::to_string(measured->value) + " for " + setting);
      if (Status kept = write_calibration(*work.store, work.tenant, *measured); !kept) return kept.error();
    }
  }
  ordered_json out = ordered_json::array();
  if (!any) return out.dump();
  const auto all = read_calibrations(*work.store, work.tenant);
  if (!all) return all.error();
  for (const Calibration& each : *all) {
    out.push_back({{"defence", each.defence},
                   {"setting", each.setting},
                   {"value", each.value},
                   {"details", ordered_json::parse(each.details_json, nullptr, false)}});
  }
  return out.dump(1);
}

}  // namespace casemate
