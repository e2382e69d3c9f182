// Names of the choices in options.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "casemate/core/named_options.h"
#include "casemate/sanitize/ap_keywords.h"

namespace casemate::sanitize {

inline constexpr std::array<std::pair<std::string_view, ApAttention>, 3> kAttentions = {
    {{"both", ApAttention::kBoth}, {"direct", ApAttention::kDirect}, {"rollout", ApAttention::kRollout}}};
inline constexpr std::array<std::pair<std::string_view, Perturbation>, 2> kPerturbations = {
    {{"delete", Perturbation::kDelete}, {"mask", Perturbation::kMask}}};
inline constexpr std::array<std::pair<std::string_view, LossChange>, 2> kLosses = {
    {{"signed", LossChange::kSigned}, {"absolute", LossChange::kAbsolute}}};

template <class Enum, std::size_t n>
std::string_view name_of(const std::array<std::pair<std::string_view, Enum>, n>& choices, Enum value) {
  for (const auto& [name, each] : choices) {
    if (each == value) return name;
  }
  return {};
}

}  // namespace casemate::sanitize
