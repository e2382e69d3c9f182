// casemate/sanitize/ap_memory.h
#pragma once

#include <cstddef>
#include <memory>

#include "casemate/sanitize/ap_keywords.h"

namespace casemate {

/// Keywords of questions and contexts that were asked before: in an experiment several modes start from the same ones.
/// Not for servers, whose tenants must not share what was found. Thread-safe as far as the models are; what one thread
/// is looking for, others wait for.
class ApMemory {
 public:
  /// At most `most` (>= 1; 0 counts as 1) results are held; the oldest go first.
  explicit ApMemory(std::size_t most = 256);
  ~ApMemory();

  /// What `find_ap_keywords` gives for the same arguments; errors are not remembered.
  [[nodiscard]] Result<ApKeywords> find(LanguageModel& model, const KeywordExtractor& tagger,
                                        const UntrustedText& question, std::span<const ContextPassage> passages,
                                        const ApOptions& options, std::stop_token stop = {});
  /// What the remembered results that were given so far took when they were computed.
  [[nodiscard]] double saved_seconds() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate
