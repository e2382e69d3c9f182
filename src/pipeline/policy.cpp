#include "casemate/pipeline/policy.h"

#include <array>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

const std::array<Policy, 4>& table() {
  static const std::array<Policy, 4> all = {
      Policy{"fast-2026-11",
             "fragments vote (RAGPart, N=5, k=3): costs no time, and some recall",
             {},
             5,
             256,
             {{"ragpart", "{fragments: 5, combination: 3}"}}},
      Policy{"off-2026-11", "no defence: exact dense retrieval, one prompt with all passages", {}, 5, 256, {}},
      Policy{"off-hybrid-2026-11",
             "no defence: dense and BM25 joined by reciprocal rank",
             {RetrievalMode::kHybrid, 60, 100},
             5,
             256,
             {}},
      Policy{"private-2026-11",
             "answers come from a few bounded facts, and are watched for passages and canaries: leaks less, knows less",
             {},
             5,
             256,
             {},
             {},
             SanitizerChoice{"kfs-fact"},
             GuardOptions{}},
  };
  return all;
}

std::string_view plain_name(std::string_view dated) {
  // "-YYYY-MM" is eight characters.
  return dated.substr(0, dated.size() - 8);
}

}  // namespace

bool protects_passages(const Policy& policy) {
  if (policy.guard) return true;
  if (!policy.sanitize) return false;
  const auto entry = find_sanitizer(policy.sanitize->name);
  return entry.ok() && (*entry)->protects;
}

std::span<const Policy> policies() { return table(); }

Result<Policy> find_policy(std::string_view name) {
  const Policy* newest = nullptr;
  for (const Policy& policy : table()) {
    if (policy.name == name) return policy;
    if (plain_name(policy.name) == name) newest = &policy;
  }
  if (newest != nullptr) return *newest;
  std::string known;
  for (const Policy& policy : table()) {
    known += (known.empty() ? "" : ", ") + policy.name;
  }
  std::string message = "there is no policy \"" + UntrustedText(std::string(name)).for_log() + "\"";
  if (name == "balanced" || name == "strict")
    message += ": its choices are not measured yet; compose defences with --defence";
  return Error{ErrorCode::kNotFound, message + " (known: " + known + ")"};
}

}  // namespace casemate
