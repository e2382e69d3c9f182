// casemate/generate/passage_states.h
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/llm/llm_batch.h"

namespace casemate {

struct PassageStatesOptions {
  std::size_t max_bytes = std::size_t{512} << 20U;  ///< of all states together in memory; the least recently used go
  std::string folder;  ///< also kept as files here; empty: memory only. Files are never removed by this class
};

struct PassageStatesUse {
  std::uint64_t hits = 0;    ///< states found, in memory or on disk
  std::uint64_t misses = 0;  ///< states looked for in vain
  std::uint64_t evicted = 0;
  std::size_t bytes = 0;  ///< held in memory now
};

/// Key-value states of "instruction + passage", which do not depend on the question: an isolated prompt goes on from
/// there, so a passage that was read once is not read again. Exact: a state gives the same bits as computing it
/// (docs/language-models.md). A state is found only under the same model file, the same tenant and the same tokens;
/// damaged ones are refused by the model when used. Thread-safe.
class PassageStates {
 public:
  /// Error: Io, Permission where the folder cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<PassageStates>> create(const PassageStatesOptions& options);
  ~PassageStates();

  /// Under which a state of these tokens is kept.
  [[nodiscard]] static Digest key(std::string_view model_hash, std::string_view tenant,
                                  std::span<const TokenId> tokens);

  [[nodiscard]] std::shared_ptr<const SequenceState> find(const Digest& key);
  /// A file that cannot be written is left out: the cache is a help and never a reason to fail.
  void keep(const Digest& key, SequenceState state);
  /// Drops one that proved damaged, in memory and on disk.
  void forget(const Digest& key);
  [[nodiscard]] PassageStatesUse use() const;

 private:
  struct State;
  explicit PassageStates(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
