// What a reader's key may learn of passages under a policy that protects them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "casemate/core/clock.h"
#include "services.h"

namespace casemate::server {

/// True where the policy that a request names ("": its tenant's default) protects passages and the caller is a reader.
[[nodiscard]] bool withholds_passages(const Services& services, const Caller& caller, std::string_view policy);

/// Leaves ids, ranks and decisions of hits, sources and evidence, and takes out every text that could be a passage's:
/// titles, texts, keywords, facts, drafts, answers of groups, and certificates, whose hashes would tell a guess right.
void hide_passages(Json& value);

/// 403: the route would show passages.
[[nodiscard]] ApiError passages_protected();

/// How much of each document a key has seen today (UTC), counted in characters; many questions must not add up to a
/// document. Kept in memory: a restart forgets it. Thread-safe.
class DisclosureBudget {
 public:
  /// `characters` a key, document and day.
  explicit DisclosureBudget(std::size_t characters, const Clock& clock = Clock::system())
      : characters_(characters), clock_(clock) {}
  /// True, and counted, where so much more may be seen.
  [[nodiscard]] bool take(const std::string& key, const std::string& document, std::size_t characters);

 private:
  const std::size_t characters_;
  const Clock& clock_;
  std::mutex mutex_;
  std::int64_t day_ = 0;
  std::map<std::pair<std::string, std::string>, std::size_t> seen_;  ///< of today; empties itself at midnight
};

inline constexpr std::size_t kDisclosedCharacters = 1000;

}  // namespace casemate::server
