#include "casemate/defend/calibrated_ragmask.h"

#include "casemate/defend/calibration.h"
#include "defend/candidate_vectors.h"

namespace casemate {
namespace {

std::string calibrate_flags(const RagMaskOptions& options, bool relative) {
  return "--mask-length " + std::to_string(options.mask_length_tokens) + " --perturb " +
         std::string(mask_action_name(options.perturb)) + " --sanitise " +
         std::string(mask_action_name(options.sanitise)) + " --pool-factor " + std::to_string(options.pool_factor) +
         (relative ? " --relative" : "");
}

}  // namespace

Result<std::unique_ptr<CalibratedRagMask>> CalibratedRagMask::create(const RagMaskOptions& options, bool relative,
                                                                     const DefenceServices& services) {
  if (services.store == nullptr)
    return Error{ErrorCode::kInvalidArgument, "ragmask with a calibrated delta needs a store to read it from"};
  if (services.encoder == nullptr)
    return Error{ErrorCode::kInvalidArgument, "ragmask embeds masked passages: it needs the store's encoder"};
  auto basis = RagMask::create(options, *services.encoder, services.cache);
  if (!basis) return basis.error();
  return std::unique_ptr<CalibratedRagMask>(  // private constructor; owned at once
      new CalibratedRagMask(options, relative, services, *std::move(basis)));
}

std::string CalibratedRagMask::calibration_setting(const RagMaskOptions& options, bool relative) {
  return "mask_length_tokens=" + std::to_string(options.mask_length_tokens) +
         " perturb=" + std::string(mask_action_name(options.perturb)) +
         " sanitise=" + std::string(mask_action_name(options.sanitise)) +
         " pool_factor=" + std::to_string(options.pool_factor) + (relative ? " delta_relative" : " delta");
}

Parameters CalibratedRagMask::parameters() const {
  Parameters out = basis_->parameters();
  for (auto& [key, value] : out) {
    if (key == (relative_ ? "delta_relative" : "delta")) value = "calibrated";
  }
  return out;
}

Result<DefendedRanking> CalibratedRagMask::rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                                int top_k, std::stop_token stop) const {
  const auto delta = calibrated_value(services_.store, query.tenant, name(), calibration_setting(options_, relative_));
  if (!delta) {
    return Error{delta.error().code,
                 delta.error().message + "; the flags for these options: " + calibrate_flags(options_, relative_)};
  }
  std::shared_ptr<const RagMask> ragmask;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const RagMask>& kept = by_delta_[*delta];
    if (!kept) {
      RagMaskOptions options = options_;
      (relative_ ? options.delta_relative : options.delta) = *delta;
      auto made = RagMask::create(options, *services_.encoder, services_.cache);
      if (!made) return made.error();
      kept = *std::move(made);
    }
    ragmask = kept;
  }
  auto ranking = ragmask->rank(query, candidates, top_k, std::move(stop));
  if (ranking) ranking->notes.push_back("calibrated delta: " + parameter_text(*delta));
  return ranking;
}

}  // namespace casemate
