// casemate/defend/calibrated_ragmask.h
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "casemate/defend/defences.h"
#include "casemate/defend/ragmask.h"

namespace casemate {

/// RAGMask with the delta that was measured on the tenant's own corpus (`casemate calibrate`).
class CalibratedRagMask final : public RetrievalDefence {
 public:
  /// `options.delta`, or with `relative` `options.delta_relative`, is taken from the calibration. Error: as
  /// RagMask::create; InvalidArgument without a store or an encoder.
  [[nodiscard]] static Result<std::unique_ptr<CalibratedRagMask>> create(const RagMaskOptions& options, bool relative,
                                                                         const DefenceServices& services);

  [[nodiscard]] std::string_view name() const noexcept override { return "ragmask"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const RagMaskOptions& options() const noexcept { return options_; }
  [[nodiscard]] bool relative() const noexcept { return relative_; }
  [[nodiscard]] int pool_size(int top_k) const noexcept override { return basis_->pool_size(top_k); }
  /// Error also: InvalidArgument where the tenant has no calibration for these options, with the command that makes
  /// one.
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;
  [[nodiscard]] bool precomputes() const noexcept override { return true; }
  [[nodiscard]] Result<std::size_t> precompute(std::string_view tenant, std::span<const PassageCandidate> passages,
                                               std::stop_token stop) const override {
    return basis_->precompute(tenant, passages, std::move(stop));
  }

  /// What a calibration must have been measured for.
  [[nodiscard]] static std::string calibration_setting(const RagMaskOptions& options, bool relative);

 private:
  CalibratedRagMask(const RagMaskOptions& options, bool relative, const DefenceServices& services,
                    std::unique_ptr<RagMask> basis)
      : options_(options), relative_(relative), services_(services), basis_(std::move(basis)) {}
  RagMaskOptions options_;
  bool relative_;
  DefenceServices services_;
  std::unique_ptr<RagMask> basis_;  ///< for what does not depend on delta
  mutable std::mutex mutex_;
  mutable std::map<double, std::shared_ptr<const RagMask>> by_delta_;
};

}  // namespace casemate
