#include "casemate/attack/query_noise.h"

#include <cmath>

#include "attack/words.h"

namespace casemate {

Result<std::unique_ptr<QueryNoise>> QueryNoise::create(const QueryNoiseOptions& options) {
  if (!(options.sigma >= 0 && options.sigma <= 10))
    return Error{ErrorCode::kInvalidOption, "query-noise: sigma must be in 0 to 10"};
  return std::unique_ptr<QueryNoise>(new QueryNoise(options));
}

std::vector<std::pair<std::string, std::string>> QueryNoise::parameters() const {
  return {{"sigma", number_text(options_.sigma)}};
}

Result<CraftedAttack> QueryNoise::craft(const AttackInput& /*input*/, std::stop_token /*stop*/) const {
  return CraftedAttack{};
}

void QueryNoise::disturb(std::string_view query, std::uint64_t seed, std::span<float> embedding) const {
  RandomStream random(seed, "attack/query-noise/" + std::string(query));
  double before = 0;
  double after = 0;
  std::vector<double> noisy;
  noisy.reserve(embedding.size());
  for (const float value : embedding) {
    noisy.push_back(static_cast<double>(value) + options_.sigma * random.normal());
    before += static_cast<double>(value) * static_cast<double>(value);
    after += noisy.back() * noisy.back();
  }
  if (options_.sigma == 0 || after == 0) return;
  const double scale = std::sqrt(before / after);
  for (std::size_t i = 0; i < noisy.size(); ++i) embedding[i] = static_cast<float>(noisy[i] * scale);
}

}  // namespace casemate
