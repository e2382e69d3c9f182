#include "disclosure.h"

#include <array>

namespace casemate::server {
namespace {

/// Bounds the memory that one day's keys and documents take.
constexpr std::size_t kMostEntries = 1'000'000;

}  // namespace

bool withholds_passages(const Services& services, const Caller& caller, std::string_view policy) {
  if (caller.role != Role::kReader) return false;
  if (policy.empty()) return protects_passages(services.engine.default_policy(caller.tenant));
  for (const Policy& each : services.engine.policies()) {
    // A plain name means the dated one: eight characters more.
    if (each.name == policy || (each.name.size() == policy.size() + 8 && each.name.starts_with(policy)))
      return protects_passages(each);
  }
  return true;  // a name that means nothing here shows nothing
}

void hide_passages(Json& value) {
  static constexpr std::array kHidden = {"title",         "text",  "answer",     "keywords", "candidates",
                                         "facts",         "draft", "draft_loss", "hints",    "counts",
                                         "resynthesised", "steps", "vote",       "source",   "groups"};
  if (value.is_object()) {
    for (const char* name : kHidden) value.erase(name);
    if (value.contains("certificate")) value["certificate"] = nullptr;
    for (auto& [name, item] : value.items()) hide_passages(item);
  } else if (value.is_array()) {
    for (Json& item : value) hide_passages(item);
  }
}

ApiError passages_protected() {
  return {403, "permission_error", "passages_protected",
          "the policy protects passages: readers get answers from POST /v1/chat/completions, not passages"};
}

bool DisclosureBudget::take(const std::string& key, const std::string& document, std::size_t characters) {
  const std::int64_t day = clock_.unix_seconds() / 86'400;
  const std::lock_guard lock(mutex_);
  if (day != day_) {
    seen_.clear();
    day_ = day;
  }
  if (seen_.size() >= kMostEntries && !seen_.contains({key, document})) return false;
  std::size_t& seen = seen_[{key, document}];
  if (seen + characters > characters_) return false;
  seen += characters;
  return true;
}

}  // namespace casemate::server
