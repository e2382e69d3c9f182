#include "audit_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "casemate/core/clock.h"
#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"
#include "services.h"

namespace casemate::server {
namespace {

constexpr std::string_view kHeadDomain = "casemate audit head\n";
const std::string kFirst(64, '0');

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string hash_of(const std::string& line) { return to_hex(blake2b(line)); }

/// What a head's signature is of.
std::string head_text(std::int64_t seq, const std::string& hash, const std::string& time) {
  return std::string(kHeadDomain) + std::to_string(seq) + "\n" + hash + "\n" + time + "\n";
}

/// Where a chain stands after a whole file.
struct Chain {
  std::int64_t next = 1;
  std::string previous = kFirst;
  std::vector<std::string> hashes{};  ///< of each record
};

/// Takes one line into the chain. Error text: why it does not fit; empty: it does.
std::string follow(Chain& chain, const std::string& line) {
  Json record = Json::parse(line, nullptr, false);
  if (!record.is_object() || !record.contains("hash") || !record["hash"].is_string()) return "is no record";
  const std::string hash = record["hash"];
  record.erase("hash");
  if (record.value("seq", Json()) != Json(chain.next)) return "is not record " + std::to_string(chain.next);
  if (record.value("previous", Json()) != Json(chain.previous)) return "does not follow the record before it";
  // The bytes themselves are hashed: the record as written, up to its hash.
  const std::string tail = ",\"hash\":\"" + hash + "\"}";
  if (!line.ends_with(tail)) return "is written in another way";
  if (hash_of(line.substr(0, line.size() - tail.size()) + "}") != hash) return "was changed: its hash is another one";
  chain.previous = hash;
  chain.hashes.push_back(hash);
  ++chain.next;
  return {};
}

/// Calls `each(number, line)` for each line that is whole; false ends it. The unfinished last line is returned.
template <typename Each>
std::string for_each_line(const std::string& text, Each each) {
  std::size_t begin = 0;
  for (std::int64_t number = 1;; ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return text.substr(begin);
    if (!each(number, text.substr(begin, end - begin))) return {};
    begin = end + 1;
  }
}

Result<std::string> read_or_empty(const std::string& path) {
  auto text = read_file(path);
  if (!text && text.error().code == ErrorCode::kNotFound) return std::string();
  return text;
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(const AuditOptions& options, const SigningKey& key) {
  std::unique_ptr<AuditLog> log(new AuditLog(options, key));
  for (const auto& [path, file] : {std::pair{options.path, &log->file_}, {options.path + ".heads", &log->heads_}}) {
    *file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (*file < 0) return io_error(errno, "open", path);
  }
  // Before it is read: two that wrote one chain would break it.
  if (::flock(log->file_, LOCK_EX | LOCK_NB) != 0)
    return Error{ErrorCode::kUnavailable, options.path + ": another server writes this audit; name another file"};
  const auto text = read_or_empty(options.path);
  if (!text) return text.error();
  Chain chain;
  std::optional<Error> bad;
  const std::string unfinished = for_each_line(*text, [&](std::int64_t number, const std::string& line) {
    const std::string why = follow(chain, line);
    if (why.empty()) return true;
    bad = Error{ErrorCode::kCorrupt, options.path + ":" + std::to_string(number) + ": the audit record " + why +
                                         "; keep this file as it is and name another one"};
    return false;
  });
  if (bad) return *bad;
  // A kill in the middle of a write: that request was not answered.
  if (!unfinished.empty() && ::ftruncate(log->file_, static_cast<off_t>(text->size() - unfinished.size())) != 0)
    return io_error(errno, "shorten", options.path);
  log->next_ = chain.next;
  log->last_head_ = chain.next - 1;
  log->previous_ = chain.previous;
  log->signer_ = std::jthread([raw = log.get()](const std::stop_token& stop) { raw->sign_now_and_then(stop); });
  return log;
}

AuditLog::~AuditLog() {
  signer_ = {};
  const std::lock_guard lock(mutex_);
  if (file_ >= 0 && heads_ >= 0 && next_ - 1 > last_head_) (void)sign_head().ok();
  if (file_ >= 0) ::close(file_);
  if (heads_ >= 0) ::close(heads_);
}

Status AuditLog::write_line(int file, const std::string& line, const std::string& path) const {
  const off_t before = ::lseek(file, 0, SEEK_END);
  const ssize_t written = ::write(file, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return {};
  const int code = written < 0 ? errno : ENOSPC;
  (void)!::ftruncate(file, before);  // half a record would look like damage
  return io_error(code, "write", path);
}

namespace {

/// What the output guard found, without a word of it; null where none watched.
Json guard_json(const Evidence& evidence) {
  if (!evidence.guard) return nullptr;
  std::map<std::string, int> kinds;
  for (const GuardIncident& each : evidence.guard->incidents) ++kinds[std::string(incident_kind_name(each.kind))];
  Json incidents = Json::object();
  for (const auto& [kind, count] : kinds) incidents[kind] = count;
  return {{"incidents", incidents}, {"ended", evidence.guard->ended}, {"redacted", evidence.guard->redacted}};
}

}  // namespace

Status AuditLog::append(const Entry& entry) {
  std::set<std::string> documents;
  for (const Hit& hit : entry.hits) documents.insert(to_valid_utf8(hit.document));
  std::set<std::string> dropped;
  for (const StageEvidence& stage : entry.evidence.stages) {
    for (const Verdict& verdict : stage.verdicts) {
      if (verdict.decision == Decision::kDropped) dropped.insert(to_valid_utf8(verdict.document));
    }
  }
  const std::lock_guard lock(mutex_);
  Json line = {{"seq", next_},
               {"time", format_utc(Clock::system().unix_seconds())},
               {"trace_id", entry.request.trace_id},
               {"key", entry.request.caller.key},
               {"tenant", entry.request.caller.tenant},
               {"route", entry.request.path},
               {"policy", entry.evidence.policy},
               {"query_hash", to_hex(blake2b(entry.query))}};
  if (options_.keep_queries) line["query"] = to_valid_utf8(entry.query);
  line["documents"] = documents;
  line["dropped"] = dropped;
  line["degraded"] = Json::array();
  for (const DegradedStage& stage : entry.evidence.degraded) line["degraded"].push_back(stage.stage);
  line["guard"] = guard_json(entry.evidence);
  line["certificate"] = entry.certificate.empty() ? Json() : Json(to_hex(blake2b(entry.certificate)));
  line["previous"] = previous_;
  std::string text = dump(line);
  const std::string hash = hash_of(text);
  text.pop_back();
  text += ",\"hash\":\"" + hash + "\"}\n";
  if (Status written = write_line(file_, text, options_.path); !written) return written;
  previous_ = hash;
  ++next_;
  return next_ - 1 - last_head_ >= options_.head_every ? sign_head() : Status();
}

void AuditLog::sign_now_and_then(const std::stop_token& stop) {
  std::condition_variable_any never;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    never.wait_for(lock, stop, std::chrono::seconds(options_.head_interval_s), [] { return false; });
    // What fails here is tried again next time, and told to a request when its turn for a head comes.
    if (!stop.stop_requested() && next_ - 1 > last_head_) (void)sign_head().ok();
  }
}

Status AuditLog::sign_head() {
  // What is signed must be there after a power cut.
  if (::fsync(file_) != 0) return io_error(errno, "sync", options_.path);
  const std::string time = format_utc(Clock::system().unix_seconds());
  const Signature signature = key_.sign(head_text(next_ - 1, previous_, time));
  const Json head = {{"seq", next_ - 1},
                     {"hash", previous_},
                     {"time", time},
                     {"public_key", to_hex(key_.public_key())},
                     {"signature", to_hex(signature)}};
  if (Status written = write_line(heads_, dump(head) + "\n", options_.path + ".heads"); !written) return written;
  if (::fsync(heads_) != 0) return io_error(errno, "sync", options_.path + ".heads");
  last_head_ = next_ - 1;
  return {};
}

namespace {

/// Why a head is not good; empty where it is.
std::string check_head(const Json& head, const Chain& chain, const std::optional<PublicKey>& key) {
  const auto text = [&](const char* name) {
    return head.contains(name) && head[name].is_string() ? head[name].get<std::string>() : std::string();
  };
  if (!head.is_object() || !head.contains("seq") || !head["seq"].is_number_integer()) return "is no head";
  const auto seq = head["seq"].get<std::int64_t>();
  const auto key_bytes = from_hex(text("public_key"));
  const auto signature_bytes = from_hex(text("signature"));
  PublicKey public_key{};
  Signature signature{};
  if (!key_bytes || key_bytes->size() != public_key.size() || !signature_bytes ||
      signature_bytes->size() != signature.size())
    return "is no head";
  std::copy(key_bytes->begin(), key_bytes->end(), public_key.begin());
  std::copy(signature_bytes->begin(), signature_bytes->end(), signature.begin());
  if (key && *key != public_key) return "is by another key";
  if (!verify_signature(head_text(seq, text("hash"), text("time")), signature, public_key))
    return "has a signature that does not hold";
  if (seq < 1 || seq > static_cast<std::int64_t>(chain.hashes.size()))
    return "covers record " + std::to_string(seq) + ", which is not there: records were cut off";
  if (chain.hashes[static_cast<std::size_t>(seq - 1)] != text("hash"))
    return "is of another record " + std::to_string(seq) + " than the one that is there";
  return {};
}

}  // namespace

Result<AuditVerification> verify_audit(const std::string& path, const std::optional<PublicKey>& key) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto heads = read_or_empty(path + ".heads");
  if (!heads) return heads.error();
  AuditVerification out;
  Chain chain;
  const std::string unfinished = for_each_line(*text, [&](std::int64_t number, const std::string& line) {
    const std::string why = follow(chain, line);
    if (!why.empty()) out.problems.push_back(path + ":" + std::to_string(number) + ": the record " + why);
    return why.empty();
  });
  if (!unfinished.empty()) out.problems.push_back(path + ": the last record is not whole");
  out.records = chain.next - 1;
  for_each_line(*heads, [&](std::int64_t number, const std::string& line) {
    const Json head = Json::parse(line, nullptr, false);
    const std::string why = check_head(head, chain, key);
    if (!why.empty()) {
      out.problems.push_back(path + ".heads:" + std::to_string(number) + ": the head " + why);
    } else {
      out.signed_up_to = std::max(out.signed_up_to, head["seq"].get<std::int64_t>());
      out.public_key = head["public_key"];
    }
    return true;
  });
  return out;
}

Status record(const Services& services, const Request& request, std::string_view query, const Evidence& evidence,
              std::span<const Hit> hits, std::string_view certificate) {
  if (services.audit == nullptr) return {};
  return services.audit->append({request, query, evidence, hits, certificate});
}

}  // namespace casemate::server
