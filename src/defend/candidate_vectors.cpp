#include "defend/candidate_vectors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace casemate {

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

Status require_embeddings(std::span<const PassageCandidate> candidates, std::string_view needed_by) {
  for (const PassageCandidate& candidate : candidates) {
    const auto bad = [&](const char* what) {
      return Error{ErrorCode::kInvalidArgument, std::string(needed_by) + ": passage " +
                                                    std::to_string(candidate.chunk) + " of " +
                                                    UntrustedText(candidate.document).for_log() + " " + what};
    };
    if (candidate.embedding.empty()) return bad("has no embedding");
    if (candidate.embedding.size() != candidates[0].embedding.size())
      return bad("has an embedding of another dimension than the first candidate");
    if (!all_finite(candidate.embedding)) return bad("has an embedding that is not finite");
  }
  return {};
}

double cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return aa > 0 && bb > 0 ? dot / std::sqrt(aa * bb) : 0.0;
}

std::span<const PassageCandidate> pool_of(std::span<const PassageCandidate> candidates, int pool_size) {
  return candidates.first(std::min(candidates.size(), static_cast<std::size_t>(std::max(pool_size, 0))));
}

Verdict verdict_of(const PassageCandidate& candidate, Decision decision, std::string reason) {
  Verdict verdict;
  verdict.chunk = candidate.chunk;
  verdict.document = candidate.document;
  verdict.decision = decision;
  verdict.reason = std::move(reason);
  return verdict;
}

Error cancelled(std::string_view defence) {
  return {ErrorCode::kCancelled, "stopped in defence " + std::string(defence)};
}

std::string parameter_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

Status check_range(std::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return Error{ErrorCode::kInvalidOption, std::string(field) + " is " + parameter_text(value) + ", it must be in " +
                                              parameter_text(low) + " to " + parameter_text(high)};
}

}  // namespace casemate
