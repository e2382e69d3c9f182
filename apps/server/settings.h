// What a running server can be told anew, read as one consistent set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "message.h"

namespace casemate::server {

/// Bounds of one request.
struct Limits {
  std::uint64_t max_body_bytes = std::uint64_t{8} << 20U;
  std::uint64_t max_upload_bytes = std::uint64_t{64} << 20U;  ///< of POST /v1/documents
  std::size_t max_documents = 10'000;                         ///< of one upload
  std::size_t max_question_bytes = 16 * 1024;
  std::size_t max_passage_bytes = 256 * 1024;
  std::size_t max_candidates = 1000;       ///< of /v1/screen
  std::size_t max_passages = 100;          ///< of /v1/answer
  std::size_t max_inputs = 256;            ///< of /v1/embeddings
  int max_top_k = 100;                     ///< in [1, 1000]
  std::size_t max_question_tokens = 4096;  ///< as the language model counts them, else the encoder; 0: bytes alone
};

struct Settings {
  Limits limits;
  Role scores_for = Role::kWriter;  ///< the least role that is shown raw scores
  bool system_messages = true;      ///< used as the operator's style, within a fixed frame
};

/// Thread-safe. A request that reads one thing twice may see a change in between; each value is one that was set.
class LiveSettings {
 public:
  explicit LiveSettings(const Settings& settings) : settings_(settings) {}
  [[nodiscard]] Settings get() const {
    const std::lock_guard lock(mutex_);
    return settings_;
  }
  void set(const Settings& settings) {
    const std::lock_guard lock(mutex_);
    settings_ = settings;
  }

 private:
  mutable std::mutex mutex_;
  Settings settings_;
};

}  // namespace casemate::server
