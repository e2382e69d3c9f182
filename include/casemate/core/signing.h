// casemate/core/signing.h
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// `count` bytes from the operating system's generator, for keys. Not reproducible: results never depend on it but
/// through a key that is kept.
[[nodiscard]] std::string random_bytes(std::size_t count);

using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

/// A secret Ed25519 key (RFC 8032). Its memory is wiped when it goes.
class SigningKey {
 public:
  [[nodiscard]] static SigningKey generate();
  /// From the 32 bytes of RFC 8032's private key. Error: InvalidArgument for another length.
  [[nodiscard]] static Result<SigningKey> from_seed(std::string_view seed);
  /// A file as `save` writes it. Error: what `read_file` says; InvalidInput for other content; Permission where others
  /// than its owner may read it.
  [[nodiscard]] static Result<SigningKey> load(const std::string& path);
  ~SigningKey();
  SigningKey(const SigningKey&) = default;
  SigningKey& operator=(const SigningKey&) = default;

  /// Writes the secret key to `path` with mode 0600, and the public key to `path`.pub. Error: AlreadyExists where
  /// either is there (a key is never overwritten); Io, NoSpace, Permission.
  [[nodiscard]] Status save(const std::string& path) const;
  [[nodiscard]] Signature sign(std::string_view message) const;
  [[nodiscard]] const PublicKey& public_key() const noexcept { return public_; }

 private:
  SigningKey() = default;
  std::array<std::uint8_t, 64> secret_{};
  PublicKey public_{};
};

/// True where `signature` was made of exactly `message` by the key that belongs to `key`.
[[nodiscard]] bool verify_signature(std::string_view message, const Signature& signature, const PublicKey& key);

/// A file with a public key as `SigningKey::save` writes it. Error: as `SigningKey::load`, without Permission for mode.
[[nodiscard]] Result<PublicKey> load_public_key(const std::string& path);

}  // namespace casemate
