// API keys of a server, in an SQLite file of their own: the server only reads it, `casemate keys` writes it, and a
// revoked key is refused from its next request on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "message.h"

namespace casemate::server {

/// Where the keys of a store's server are, in the store's folder.
inline constexpr char kKeyFile[] = "keys.db";

struct KeyRecord {
  std::string prefix;  ///< public: names the key in logs
  std::string name;
  Role role = Role::kReader;
  std::string tenant;
  std::vector<std::string> labels;
  std::int64_t created_at = 0;  ///< seconds since 1970 UTC
  std::int64_t revoked_at = 0;  ///< 0: valid
};

/// A key is "cm-PREFIX-SECRET": 64 random bits to look it up, 256 random bits of which only the BLAKE2b hash is kept.
/// (A slow hash would add nothing to a random secret of this length, and let anyone keep the server busy.) Thread-safe.
class KeyStore {
 public:
  /// Opens the file, made where it is missing, with mode 0600. Error: Io, Permission, Corrupt, with the path.
  [[nodiscard]] static Result<std::unique_ptr<KeyStore>> open(const std::string& path);
  ~KeyStore();

  /// Makes a key and returns its text, which is kept nowhere. Error: InvalidArgument for a name or tenant that is
  /// empty, longer than 128 bytes or not printable; AlreadyExists where a valid key has this name.
  [[nodiscard]] Result<std::string> add(const std::string& name, Role role, const std::string& tenant,
                                        const std::vector<std::string>& labels);
  /// Revokes the valid key with this name or prefix. Error: NotFound.
  [[nodiscard]] Status revoke(const std::string& name_or_prefix);
  /// In order of making, revoked ones too.
  [[nodiscard]] Result<std::vector<KeyRecord>> list() const;

  /// Who has this key; nothing where it is not valid. The same work for every text, and a comparison that takes the
  /// same time wherever the secrets differ.
  [[nodiscard]] Result<std::optional<Caller>> find(std::string_view key) const;
  /// True once a key was ever made: revoking the last one does not open the server.
  [[nodiscard]] Result<bool> in_use() const;

 private:
  struct State;
  explicit KeyStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Error: InvalidOption, listing the names.
[[nodiscard]] Result<Role> parse_role(std::string_view name);

}  // namespace casemate::server
