// Names of the choices in options.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
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

/// Takes `text` for one of `choices`; an empty text leaves `out` as it is. Error: InvalidOption, listing what may stand
/// there.
template <class Enum, std::size_t n>
Status read_choice(const std::string& text, std::string_view field,
                   const std::array<std::pair<std::string_view, Enum>, n>& choices, Enum& out) {
  if (text.empty()) return {};
  std::string known;
  for (const auto& [name, value] : choices) {
    if (name == text) {
      out = value;
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return Error{ErrorCode::kInvalidOption,
               std::string(field) + " is \"" + UntrustedText(text).for_log() + "\", it must be one of " + known};
}

}  // namespace casemate::sanitize
