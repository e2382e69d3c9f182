// casemate/core/hash.h
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256 of `data` (for model files, whose published hashes are SHA-256).
[[nodiscard]] Digest sha256(std::string_view data);
/// BLAKE2b-256 of `data` (for everything of our own: content ids, checksums, cache keys).
[[nodiscard]] Digest blake2b(std::string_view data);
/// BLAKE2b-256 keyed with `key` (1 to 64 bytes).
[[nodiscard]] Digest blake2b_keyed(std::string_view data, std::string_view key);

[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
/// Error: InvalidArgument where `hex` is not pairs of hexadecimal digits.
[[nodiscard]] Result<std::string> from_hex(std::string_view hex);

/// Hashes a stream piece by piece.
class Hasher {
 public:
  enum class Kind { kSha256, kBlake2b };
  explicit Hasher(Kind kind);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::string_view data);
  /// Ends the stream; call once.
  [[nodiscard]] Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// BLAKE2b-256 over a list of fields. Texts have their length before them, so that no two different lists hash alike by
/// shifting bytes from one field to the next; what has a fixed number of bytes needs none.
class FieldHasher {
 public:
  /// How a length is written. What is kept on a disk depends on it, so each place keeps to its own.
  enum class Lengths : std::uint8_t {
    kDecimal,  ///< digits and a colon
    kBinary,   ///< int64 in the machine's byte order
  };
  explicit FieldHasher(Lengths lengths = Lengths::kDecimal);

  FieldHasher& add(std::string_view text);
  FieldHasher& add(const Digest& digest);  ///< as a text
  FieldHasher& add(std::int64_t number);   ///< as its 8 bytes, without a length
  FieldHasher& add_raw(std::string_view bytes);
  /// Ends it; call once.
  [[nodiscard]] Digest finish();

 private:
  Lengths lengths_;
  Hasher hasher_;
};

}  // namespace casemate
