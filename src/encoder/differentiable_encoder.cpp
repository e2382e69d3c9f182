#include "casemate/encoder/differentiable_encoder.h"

#include <algorithm>
#include <string>

namespace casemate {

Result<GradientResult> DifferentiableEncoder::gradient(std::span<const std::vector<TokenId>> sequences,
                                                       std::span<const float> loss_gradients) const {
  const std::size_t dimension = info().dimension;
  if (loss_gradients.size() != sequences.size() * dimension) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(loss_gradients.size()) + " values of loss gradients given, " +
                     std::to_string(sequences.size()) + " sequences need " + std::to_string(dimension) + " each"};
  }
  return gradient(sequences, [&](std::size_t i, std::span<const float>, std::span<float> out) {
    const auto given = loss_gradients.subspan(i * dimension, dimension);
    std::copy(given.begin(), given.end(), out.begin());
  });
}

}  // namespace casemate
