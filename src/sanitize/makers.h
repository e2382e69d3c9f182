// One function a family of sanitizers: fills the options from YAML and makes it.
#pragma once

#include "casemate/sanitize/sanitizers.h"

namespace casemate {

using MadeSanitizer = Result<std::unique_ptr<Sanitizer>>;

/// kfs-fact, kfs-full, keywords-direct, ap-keyword-context, attention-only, perturbation-only, random-fact.
[[nodiscard]] MadeSanitizer make_kfs(std::string_view name, const YamlValue& map, const SanitizerServices& services);
/// no-rag, vanilla, prompt-hardening.
[[nodiscard]] MadeSanitizer make_plain(std::string_view name, const YamlValue& map, const SanitizerServices& services);
/// advanced, paraphrased, sage, summary.
[[nodiscard]] MadeSanitizer make_rewriting(std::string_view name, const YamlValue& map,
                                           const SanitizerServices& services);

/// Fills the figures that every record has: lengths, and how much of each passage stands in what goes on.
void account(std::span<const ContextPassage> passages, std::size_t passages_read, SanitizedContext& context);

}  // namespace casemate
