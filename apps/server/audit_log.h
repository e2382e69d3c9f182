// What was asked and what was answered from, kept so that a later change shows.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "casemate/core/signing.h"
#include "casemate/pipeline/pipeline.h"
#include "message.h"

namespace casemate::server {

struct Services;

struct AuditOptions {
  std::string path;           ///< the file; its signed heads are beside it, in PATH.heads
  bool keep_queries = false;  ///< the text of questions too, not only its hash
  int head_every = 100;       ///< records between signed heads; one is also made at the end; >= 1
  int head_interval_s = 60;   ///< a record is under a head after so long at the latest; >= 1
};

/// Append-only JSON lines, each with the hash of the one before: {seq, time, trace_id, key, tenant, route, policy,
/// query_hash, [query], documents, dropped, degraded, guard, certificate, previous, hash}. `hash` is BLAKE2b-256 of the
/// line without it. Cutting records off the end shows up to the last head, which is signed; send the heads elsewhere as
/// they come, and it shows up to there whatever happens here. Thread-safe.
class AuditLog {
 public:
  /// Goes on with the file that is there after checking it. Error: Corrupt, naming the first bad line; what the file
  /// system says.
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(const AuditOptions& options, const SigningKey& key);
  /// Signs a last head.
  ~AuditLog();

  struct Entry {
    const Request& request;
    std::string_view query;
    const Evidence& evidence;
    std::span<const Hit> hits;
    std::string_view certificate;  ///< the file's text; empty: none
  };
  /// On the disk when it returns (but for a power cut; heads are synced). Error: Io, NoSpace.
  [[nodiscard]] Status append(const Entry& entry);

 private:
  AuditLog(AuditOptions options, const SigningKey& key) : options_(std::move(options)), key_(key) {}
  [[nodiscard]] Status write_line(int file, const std::string& line, const std::string& path) const;
  [[nodiscard]] Status sign_head();
  void sign_now_and_then(const std::stop_token& stop);

  const AuditOptions options_;
  const SigningKey key_;
  std::mutex mutex_;
  int file_ = -1;
  int heads_ = -1;
  std::int64_t next_ = 1;
  std::int64_t last_head_ = 0;
  std::string previous_;
  std::jthread signer_;
};

struct AuditVerification {
  std::int64_t records = 0;           ///< whose chain holds
  std::int64_t signed_up_to = 0;      ///< last record that a head covers
  std::vector<std::string> problems;  ///< none: it holds
  std::string public_key;             ///< of the heads; empty where there are none
};
/// Reads file and heads. `key`: whose heads they must be; unset: any one key's. Error: what the file system says.
[[nodiscard]] Result<AuditVerification> verify_audit(const std::string& path, const std::optional<PublicKey>& key);

/// Appends where the server keeps an audit. A request that cannot be recorded is not answered.
[[nodiscard]] Status record(const Services& services, const Request& request, std::string_view query,
                            const Evidence& evidence, std::span<const Hit> hits, std::string_view certificate);

}  // namespace casemate::server
