#include "attack/poison_objective.h"

namespace casemate {
namespace {

class SimilarityObjective final : public PoisonObjective {
 public:
  SimilarityObjective(const DifferentiableEncoder& encoder, std::span<const float> target)
      : encoder_(encoder), target_(target) {}

  Result<double> start(const Version& version) override {
    current_ = version;
    similarity_gradient_.forget();
    const Version* one = &version;
    const auto found = values(std::span(&one, 1), 0);
    if (!found) return found.error();
    return found->front();
  }

  Result<std::vector<float>> gradient(std::size_t slot) override {
    return similarity_gradient_.at(encoder_, target_, current_, slot, costs_);
  }

  Result<std::vector<double>> values(std::span<const Version* const> versions, std::size_t /*slot*/) override {
    std::vector<std::vector<TokenId>> sequences;
    for (const Version* version : versions) {
      sequences.push_back(version->ids);
      costs_.forward_tokens += version->ids.size();
    }
    const auto embedded = encoder_.encode_tokens(sequences);
    if (!embedded) return embedded.error();
    std::vector<double> out;
    for (std::size_t i = 0; i < versions.size(); ++i) out.push_back(similarity_to(target_, embedded->row(i)));
    return out;
  }

  Result<std::optional<double>> accept(const Version& version, std::size_t /*slot*/, double value,
                                       double least) override {
    if (value <= least) return std::optional<double>();
    current_ = version;
    similarity_gradient_.forget();
    return std::optional(value);
  }

 private:
  const DifferentiableEncoder& encoder_;
  std::span<const float> target_;
  Version current_;
  SimilarityGradient similarity_gradient_;  ///< of the current version
};

}  // namespace

Result<std::vector<float>> SimilarityGradient::at(const DifferentiableEncoder& encoder, std::span<const float> target,
                                                  const PoisonDraft::Version& version, std::size_t slot,
                                                  CraftCosts& costs) {
  const std::size_t position = version.positions[slot];
  if (position == PoisonDraft::kCutOff) return std::vector<float>{};
  if (!gradients_) {
    auto found = encoder.gradient(std::span(&version.ids, 1), target);
    if (!found) return found.error();
    costs.forward_tokens += found->forward_tokens;
    costs.backward_tokens += found->backward_tokens;
    gradients_ = *std::move(found);
  }
  const auto row = std::span(gradients_->gradients).subspan(position * gradients_->hidden, gradients_->hidden);
  return std::vector<float>(row.begin(), row.end());
}

double similarity_to(std::span<const float> target, std::span<const float> embedding) {
  double sum = 0;
  for (std::size_t d = 0; d < target.size(); ++d)
    sum += static_cast<double>(target[d]) * static_cast<double>(embedding[d]);
  return sum;
}

std::unique_ptr<PoisonObjective> make_similarity_objective(const DifferentiableEncoder& encoder,
                                                           std::span<const float> target) {
  return std::make_unique<SimilarityObjective>(encoder, target);
}

}  // namespace casemate
