#include "casemate/pipeline/policy.h"

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

Policy with_defences(std::string name, std::string description, std::vector<DefenceChoice> defences) {
  Policy policy;
  policy.name = std::move(name);
  policy.description = std::move(description);
  policy.defences = std::move(defences);
  return policy;
}

std::vector<Policy> make_all() {
  std::vector<Policy> all;
  // What balanced and strict choose was measured by experiments/policies.yaml; docs/policies.md has the table.
  all.push_back(with_defences(
      "balanced-2026-11",
      "fragments vote (RAGPart, N=5, k=3), and what hangs on one piece loses it (RAGMask): some recall and time",
      {{"ragpart", "{fragments: 5, combination: 3}"},
       {"ragmask", "{perturb: delete, delta_relative: 0.3, examine: reachable}"}}));
  all.push_back(with_defences("fast-2026-11", "fragments vote (RAGPart, N=5, k=3): costs no time, and some recall",
                              {{"ragpart", "{fragments: 5, combination: 3}"}}));
  all.push_back(with_defences("off-2026-11", "no defence: exact dense retrieval, one prompt with all passages", {}));
  all.push_back(with_defences("off-hybrid-2026-11", "no defence: dense and BM25 joined by reciprocal rank", {}));
  all.back().retrieval.mode = RetrievalMode::kHybrid;
  all.push_back(with_defences(
      "private-2026-11",
      "answers come from a few bounded facts, and are watched for passages and canaries: leaks less, knows less", {}));
  all.back().sanitize = SanitizerChoice{"kfs-fact"};
  all.back().guard = GuardOptions{};
  all.push_back(with_defences(
      "strict-2026-11",
      "as balanced, by single fragments (k=1) and a finer mask: more recall lost, least poison in one place",
      {{"ragpart", "{fragments: 5, combination: 1}"},
       {"ragmask", "{perturb: delete, delta_relative: 0.2, examine: reachable}"}}));
  return all;
}

const std::vector<Policy>& table() {
  static const std::vector<Policy> all = make_all();
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
  return Error{ErrorCode::kNotFound,
               "there is no policy \"" + UntrustedText(std::string(name)).for_log() + "\" (known: " + known + ")"};
}

}  // namespace casemate
