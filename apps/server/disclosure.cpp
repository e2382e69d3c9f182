#include "disclosure.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace casemate::server {
namespace {

using Names = std::span<const std::string_view>;

// What a reader sees of an answer, its sources and its evidence: nothing of it is a passage's text. A field that is new
// is hidden until somebody lists it.
constexpr std::string_view kOfAnswers[] = {"policy",   "question", "sources",       "evidence",     "degraded",
                                           "trace_id", "method",   "finish_reason", "passages_used"};
constexpr std::string_view kOfSources[] = {"number", "cited", "id", "document", "rank", "sanitised"};
constexpr std::string_view kOfStages[] = {"version",  "stages", "stage",    "passages_in", "passages_out",
                                          "verdicts", "chunk",  "decision", "copy_of"};
constexpr std::string_view kOfSanitizers[] = {
    "sanitizer",  "mode", "context_characters",      "disclosed_characters", "passages",
    "characters", "read", "longest_shared_run_words"};
constexpr std::string_view kOfGuards[] = {
    "guard", "incidents", "kind", "form", "canary", "longest_run_words", "largest_share", "ended", "redacted"};
constexpr std::string_view kOfGeneration[] = {"generation",    "from_passages", "decoded_tokens",
                                              "reused_tokens", "certified",     "k_prime"};
constexpr Names kShown[] = {kOfAnswers, kOfSources, kOfStages, kOfSanitizers, kOfGuards, kOfGeneration};

/// Required by the described form: empty strings, lists and objects.
constexpr std::string_view kEmptied[] = {"title",  "text",     "reason", "notes",     "parameters",
                                         "groups", "keywords", "facts",  "limited_by"};

bool listed(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

bool shown(std::string_view name) {
  return std::any_of(std::begin(kShown), std::end(kShown), [&](Names names) { return listed(names, name); });
}

}  // namespace

std::variant<const Policy*, ApiError> policy_for(const Services& services, const Caller& caller,
                                                 std::string_view named) {
  const Policy& standard = services.engine.default_policy(caller.tenant);
  if (named.empty()) return &standard;
  const auto found = services.engine.policy(named);
  if (!found) return api_error(found.error());
  if (withholds_passages(caller, standard) && !protects_passages(**found)) {
    return ApiError{403, "permission_error", "policy_protects_less",
                    "the policy of this server protects passages: a reader cannot name one that does not", "policy"};
  }
  return *found;
}

bool withholds_passages(const Caller& caller, const Policy& policy) {
  return caller.role == Role::kReader && protects_passages(policy);
}

void hide_passages(Json& value) {
  if (value.is_array()) {
    for (Json& item : value) hide_passages(item);
  }
  if (!value.is_object()) return;
  Json out = Json::object();
  for (auto& [name, item] : value.items()) {
    if (name == "source") {
      out[name] = {{"path", ""}, {"begin", 0}, {"end", 0}};
    } else if (listed(kEmptied, name) && !item.is_null()) {
      out[name] = item.is_string() ? Json("") : item.is_array() ? Json::array() : Json::object();
    } else if (name == "certificate") {
      out[name] = nullptr;
    } else if (shown(name)) {
      hide_passages(item);
      out[name] = std::move(item);
    }
  }
  value = std::move(out);
}

ApiError passages_protected() {
  return {403, "permission_error", "passages_protected",
          "the policy protects passages: readers get answers from POST /v1/chat/completions, not passages"};
}

}  // namespace casemate::server
