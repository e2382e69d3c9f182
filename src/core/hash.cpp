#include "casemate/core/hash.h"

#include <sodium.h>

#include <cstdlib>

namespace casemate {
namespace {

const unsigned char* as_bytes(std::string_view data) { return reinterpret_cast<const unsigned char*>(data.data()); }

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Digest sha256(std::string_view data) {
  Digest digest{};
  crypto_hash_sha256(digest.data(), as_bytes(data), data.size());
  return digest;
}

Digest blake2b(std::string_view data) {
  Digest digest{};
  crypto_generichash(digest.data(), digest.size(), as_bytes(data), data.size(), nullptr, 0);
  return digest;
}

Digest blake2b_keyed(std::string_view data, std::string_view key) {
  Digest digest{};
  if (crypto_generichash(digest.data(), digest.size(), as_bytes(data), data.size(), as_bytes(key), key.size()) != 0)
    std::abort();
  return digest;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

Result<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return Error{ErrorCode::kInvalidArgument, "an odd number of hexadecimal digits"};
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_value(hex[i]);
    const int low = hex_value(hex[i + 1]);
    if (high < 0 || low < 0)
      return Error{ErrorCode::kInvalidArgument, "not a hexadecimal digit at " + std::to_string(i)};
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

struct Hasher::State {
  Kind kind;
  crypto_hash_sha256_state sha;
  crypto_generichash_state blake;
};

Hasher::Hasher(Kind kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  if (kind == Kind::kSha256) {
    crypto_hash_sha256_init(&state_->sha);
  } else {
    crypto_generichash_init(&state_->blake, nullptr, 0, Digest{}.size());
  }
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(std::string_view data) {
  if (state_->kind == Kind::kSha256) {
    crypto_hash_sha256_update(&state_->sha, as_bytes(data), data.size());
  } else {
    crypto_generichash_update(&state_->blake, as_bytes(data), data.size());
  }
}

Digest Hasher::finish() {
  Digest digest{};
  if (state_->kind == Kind::kSha256) {
    crypto_hash_sha256_final(&state_->sha, digest.data());
  } else {
    crypto_generichash_final(&state_->blake, digest.data(), digest.size());
  }
  return digest;
}

FieldHasher::FieldHasher(Lengths lengths) : lengths_(lengths), hasher_(Hasher::Kind::kBlake2b) {}

FieldHasher& FieldHasher::add(std::string_view text) {
  if (lengths_ == Lengths::kBinary) {
    add(static_cast<std::int64_t>(text.size()));
  } else {
    hasher_.update(std::to_string(text.size()) + ":");
  }
  return add_raw(text);
}

FieldHasher& FieldHasher::add(const Digest& digest) {
  return add(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

FieldHasher& FieldHasher::add(std::int64_t number) {
  return add_raw(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
}

FieldHasher& FieldHasher::add_raw(std::string_view bytes) {
  hasher_.update(bytes);
  return *this;
}

Digest FieldHasher::finish() { return hasher_.finish(); }

}  // namespace casemate
