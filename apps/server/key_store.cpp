#include "key_store.h"

#include <sodium.h>
#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "casemate/core/clock.h"
#include "casemate/core/hash.h"
#include "casemate/core/signing.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"
#include "sqlite_file.h"

namespace casemate::server {
namespace {

constexpr std::string_view kMark = "cm-";
constexpr std::size_t kPrefixDigits = 16;
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kKeyLength = 3 + kPrefixDigits + 1 + kSecretDigits;
constexpr char kSchema[] =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
    "CREATE TABLE IF NOT EXISTS keys(prefix TEXT PRIMARY KEY, name TEXT NOT NULL, role INTEGER NOT NULL, tenant TEXT "
    "NOT "
    "NULL, labels TEXT NOT NULL, hash BLOB NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER NOT NULL DEFAULT "
    "0);"
    "CREATE UNIQUE INDEX IF NOT EXISTS valid_names ON keys(name) WHERE revoked_at = 0;";
constexpr char kColumns[] = "prefix, name, role, tenant, labels, created_at, revoked_at, hash";

std::string bytes_of(sqlite3_stmt* row, int column) {
  const void* data = sqlite3_column_blob(row, column);
  return data == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
}

std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

bool good_name(const std::string& text) {
  if (text.empty() || text.size() > 128 || !is_valid_utf8(text)) return false;
  return UntrustedText(text).for_log(1024) == text;
}

KeyRecord record_of(sqlite3_stmt* row) {
  KeyRecord out;
  out.prefix = bytes_of(row, 0);
  out.name = bytes_of(row, 1);
  out.role = static_cast<Role>(std::clamp(sqlite3_column_int(row, 2), 0, 2));
  out.tenant = bytes_of(row, 3);
  const auto labels = nlohmann::json::parse(bytes_of(row, 4), nullptr, false);
  if (labels.is_array()) out.labels = labels.get<std::vector<std::string>>();
  out.created_at = sqlite3_column_int64(row, 5);
  out.revoked_at = sqlite3_column_int64(row, 6);
  return out;
}

}  // namespace

struct KeyStore::State {
  std::unique_ptr<SqliteFile> file;
  mutable std::mutex mutex;
};

KeyStore::KeyStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
KeyStore::~KeyStore() = default;

Result<std::unique_ptr<KeyStore>> KeyStore::open(const std::string& path) {
  auto file = SqliteFile::open(path, "the keys", kSchema);
  if (!file) return file.error();
  auto state = std::make_unique<State>();
  state->file = *std::move(file);
  return std::unique_ptr<KeyStore>(new KeyStore(std::move(state)));
}

Result<std::string> KeyStore::add(const std::string& name, Role role, const std::string& tenant,
                                  const std::vector<std::string>& labels) {
  for (const auto& [what, text] : {std::pair<std::string, const std::string&>{"the name of a key", name},
                                   std::pair<std::string, const std::string&>{"a tenant", tenant}}) {
    if (!good_name(text)) return Error{ErrorCode::kInvalidArgument, what + " must be 1 to 128 bytes of printable text"};
  }
  if (std::any_of(labels.begin(), labels.end(), [](const std::string& label) { return !good_name(label); }))
    return Error{ErrorCode::kInvalidArgument, "a label must be 1 to 128 bytes of printable text"};
  const std::string random = random_bytes((kPrefixDigits + kSecretDigits) / 2);
  const std::string digits = to_hex(std::span(reinterpret_cast<const std::uint8_t*>(random.data()), random.size()));
  const std::string prefix = digits.substr(0, kPrefixDigits);
  std::string key = std::string(kMark) + prefix + "-" + digits.substr(kPrefixDigits);
  const std::lock_guard lock(state_->mutex);
  auto statement = state_->file->prepare(
      "INSERT INTO keys(prefix, name, role, tenant, labels, hash, created_at) VALUES(?, ?, ?, ?, ?, ?, ?)");
  if (!statement) return statement.error();
  SqliteFile::bind(*statement, 1, prefix);
  SqliteFile::bind(*statement, 2, name);
  SqliteFile::bind(*statement, 3, static_cast<std::int64_t>(role));
  SqliteFile::bind(*statement, 4, tenant);
  SqliteFile::bind(*statement, 5, nlohmann::json(labels).dump());
  const std::string hash = text_of(blake2b(key));
  sqlite3_bind_blob(statement->get(), 6, hash.data(), static_cast<int>(hash.size()), SQLITE_TRANSIENT);
  SqliteFile::bind(*statement, 7, Clock::system().unix_seconds());
  const int code = sqlite3_step(statement->get());
  if (code == SQLITE_CONSTRAINT)
    return Error{ErrorCode::kAlreadyExists, "there is a key named " + name + "; revoke it first or take another name"};
  if (code != SQLITE_DONE) return state_->file->failure("add a key");
  return key;
}

Status KeyStore::revoke(const std::string& name_or_prefix) {
  const std::lock_guard lock(state_->mutex);
  auto statement =
      state_->file->prepare("UPDATE keys SET revoked_at = ?1 WHERE revoked_at = 0 AND (name = ?2 OR prefix = ?2)");
  if (!statement) return statement.error();
  SqliteFile::bind(*statement, 1, std::max<std::int64_t>(1, Clock::system().unix_seconds()));
  SqliteFile::bind(*statement, 2, name_or_prefix);
  if (sqlite3_step(statement->get()) != SQLITE_DONE) return state_->file->failure("revoke a key");
  if (sqlite3_changes(state_->file->handle()) == 0)
    return Error{ErrorCode::kNotFound, "there is no valid key " + UntrustedText(name_or_prefix).for_log()};
  return {};
}

Result<std::vector<KeyRecord>> KeyStore::list() const {
  const std::lock_guard lock(state_->mutex);
  auto statement = state_->file->prepare(std::string("SELECT ") + kColumns + " FROM keys ORDER BY rowid");
  if (!statement) return statement.error();
  std::vector<KeyRecord> out;
  int code = sqlite3_step(statement->get());
  for (; code == SQLITE_ROW; code = sqlite3_step(statement->get())) out.push_back(record_of(statement->get()));
  if (code != SQLITE_DONE) return state_->file->failure("read the keys");
  return out;
}

Result<std::optional<Caller>> KeyStore::find(std::string_view key) const {
  const bool shaped = key.size() == kKeyLength && key.starts_with(kMark);
  const Digest given = blake2b(shaped ? key : std::string_view("no key"));
  const std::lock_guard lock(state_->mutex);
  auto statement =
      state_->file->prepare(std::string("SELECT ") + kColumns + " FROM keys WHERE prefix = ? AND revoked_at = 0");
  if (!statement) return statement.error();
  SqliteFile::bind(*statement, 1, shaped ? key.substr(kMark.size(), kPrefixDigits) : std::string_view());
  const int code = sqlite3_step(statement->get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) return state_->file->failure("look a key up");
  std::string kept(given.size(), '\0');
  if (code == SQLITE_ROW) kept = bytes_of(statement->get(), 7);
  kept.resize(given.size());
  const bool same = sodium_memcmp(kept.data(), given.data(), given.size()) == 0;
  if (!same || code != SQLITE_ROW) return std::optional<Caller>();
  KeyRecord record = record_of(statement->get());
  Caller caller;
  caller.name = std::move(record.name);
  caller.key = std::move(record.prefix);
  caller.role = record.role;
  caller.tenant = std::move(record.tenant);
  caller.labels = std::move(record.labels);
  return std::optional<Caller>(std::move(caller));
}

Result<bool> KeyStore::in_use() const {
  const std::lock_guard lock(state_->mutex);
  auto statement = state_->file->prepare("SELECT EXISTS(SELECT 1 FROM keys)");
  if (!statement) return statement.error();
  if (sqlite3_step(statement->get()) != SQLITE_ROW) return state_->file->failure("count the keys");
  return sqlite3_column_int(statement->get(), 0) != 0;
}

Result<Role> parse_role(std::string_view name) {
  for (const Role role : {Role::kReader, Role::kWriter, Role::kAdmin}) {
    if (role_name(role) == name) return role;
  }
  return Error{ErrorCode::kInvalidOption, "a role is reader, writer or admin"};
}

}  // namespace casemate::server
