// src/attack/poison_objective.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attack/poison_draft.h"
#include "casemate/attack/hotflip.h"
#include "casemate/encoder/differentiable_encoder.h"

namespace casemate {

struct CraftCosts {
  std::uint64_t forward_tokens = 0;
  std::uint64_t backward_tokens = 0;
};

/// What a search over tokens maximises. Knows one version, the current one. Not thread-safe: one a document.
class PoisonObjective {
 public:
  using Version = PoisonDraft::Version;
  virtual ~PoisonObjective() = default;

  /// Makes `version` the current one, whatever it is worth. Returns its exact value.
  [[nodiscard]] virtual Result<double> start(const Version& version) = 0;
  /// Gradient [hidden] of the current version's value with respect to the word embedding in place `slot`, or of what
  /// stands for it in ranking; empty where no reader sees the place.
  [[nodiscard]] virtual Result<std::vector<float>> gradient(std::size_t slot) = 0;
  /// Values, perhaps estimated, of versions that differ from the current one in place `slot` alone.
  [[nodiscard]] virtual Result<std::vector<double>> values(std::span<const Version* const> versions,
                                                           std::size_t slot) = 0;
  /// Makes `version`, of which `values` said `value`, the current one if its exact value is above `least`; that value,
  /// or nothing where it is not.
  [[nodiscard]] virtual Result<std::optional<double>> accept(const Version& version, std::size_t slot, double value,
                                                             double least) = 0;

  [[nodiscard]] const CraftCosts& costs() const noexcept { return costs_; }

 protected:
  CraftCosts costs_;
};

/// Gradients of a version's similarity, computed for all its places at once and kept until it is forgotten.
class SimilarityGradient {
 public:
  /// [hidden], of place `slot` of `version`, the same one until `forget`; empty where no reader sees the place. Error:
  /// what the encoder says.
  [[nodiscard]] Result<std::vector<float>> at(const DifferentiableEncoder& encoder, std::span<const float> target,
                                              const PoisonDraft::Version& version, std::size_t slot, CraftCosts& costs);
  void forget() noexcept { gradients_.reset(); }

 private:
  std::optional<GradientResult> gradients_;
};

/// `target` [d]: the value is the embedding's inner product with it. All must outlive the objective.
[[nodiscard]] std::unique_ptr<PoisonObjective> make_similarity_objective(const DifferentiableEncoder& encoder,
                                                                         std::span<const float> target);
/// The mean over the fragments that RAGPart cuts the text into.
[[nodiscard]] std::unique_ptr<PoisonObjective> make_ragpart_objective(const DifferentiableEncoder& encoder,
                                                                      std::span<const float> target,
                                                                      const HotFlipOptions& options);
/// Similarity less `penalty` times the sum of what each of RAGMask's segments exceeds delta by.
[[nodiscard]] std::unique_ptr<PoisonObjective> make_ragmask_objective(const DifferentiableEncoder& encoder,
                                                                      std::span<const float> target,
                                                                      const HotFlipOptions& options);

[[nodiscard]] double similarity_to(std::span<const float> target, std::span<const float> embedding);

}  // namespace casemate
