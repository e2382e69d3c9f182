// casemate/defend/perplexity.h
#pragma once

#include <memory>
#include <optional>

#include "casemate/defend/defences.h"

namespace casemate {

struct PerplexityOptions {
  int pool_size = 20;  ///< candidates examined, at least top_k; in [1, 1000]
  /// Passages above it are dropped; at least 1. Unset: the value that `casemate calibrate` measured for this model.
  std::optional<double> max_perplexity{};
};

/// Perplexity of `text` under `model`: exp of the mean negated log-probability of each token after its first. Nothing
/// for fewer than two tokens. Tokens beyond the model's context are not read. Error: Unsupported; what the model says.
[[nodiscard]] Result<std::optional<double>> perplexity_of(LanguageModel& model, const UntrustedText& text,
                                                          std::stop_token stop);

/// Drops passages that a language model finds unlikely, such as strings made by gradients: the baseline of RAGPart's
/// paper (its table 1). Fluent poison passes. Values are kept in the cache, so a passage is read once.
class Perplexity final : public RetrievalDefence {
 public:
  /// Error: InvalidOption; InvalidArgument without a language model; Unsupported where it cannot score a continuation.
  [[nodiscard]] static Result<std::unique_ptr<Perplexity>> create(const PerplexityOptions& options,
                                                                  const DefenceServices& services);

  [[nodiscard]] std::string_view name() const noexcept override { return "perplexity"; }
  [[nodiscard]] Parameters parameters() const override;
  [[nodiscard]] const PerplexityOptions& options() const noexcept { return options_; }
  [[nodiscard]] int pool_size(int top_k) const noexcept override;
  /// Error also: InvalidArgument where there is neither a threshold nor a calibration of the tenant's corpus.
  [[nodiscard]] Result<DefendedRanking> rank(const DefenceQuery& query, std::span<const PassageCandidate> candidates,
                                             int top_k, std::stop_token stop) const override;
  [[nodiscard]] bool precomputes() const noexcept override { return true; }
  [[nodiscard]] Result<std::size_t> precompute(std::string_view tenant, std::span<const PassageCandidate> passages,
                                               std::stop_token stop) const override;

  /// What a calibration must have been measured for.
  [[nodiscard]] static std::string calibration_setting(const LanguageModel& model);

 private:
  Perplexity(const PerplexityOptions& options, const DefenceServices& services)
      : options_(options), services_(services) {}
  [[nodiscard]] Result<std::optional<double>> cached(std::string_view tenant, const PassageCandidate& passage,
                                                     bool& computed, std::stop_token stop) const;
  PerplexityOptions options_;
  DefenceServices services_;
};

}  // namespace casemate
