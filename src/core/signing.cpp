#include "casemate/core/signing.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

constexpr std::string_view kSecretMark = "casemate-ed25519-secret:";
constexpr std::string_view kPublicMark = "casemate-ed25519-public:";
constexpr std::uint64_t kMaxKeyFileBytes = 4096;

void start_sodium() {
  if (sodium_init() < 0) std::abort();
}

const unsigned char* as_bytes(std::string_view data) { return reinterpret_cast<const unsigned char*>(data.data()); }

/// Makes a file that was not there, for its owner alone where `mode` says so.
Status write_new_file(const std::string& path, std::string_view text, mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0) {
    if (errno == EEXIST) {
      return Error{ErrorCode::kAlreadyExists,
                   UntrustedText(path).for_log() + " is there already: a key is never overwritten"};
    }
    return io_error(errno, "create", path);
  }
  Status done;
  for (std::size_t at = 0; at < text.size() && done;) {
    const ssize_t wrote = ::write(file, text.data() + at, text.size() - at);
    if (wrote < 0 && errno != EINTR) done = io_error(errno, "write", path);
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  if (done && ::fsync(file) != 0) done = io_error(errno, "sync", path);
  if (::close(file) != 0 && done) done = io_error(errno, "close", path);
  if (!done) ::unlink(path.c_str());
  return done;
}

/// The 32 bytes after `mark` in the file's only line.
Result<std::string> read_key_file(const std::string& path, std::string_view mark) {
  const auto content = read_file(path, kMaxKeyFileBytes);
  if (!content) return content.error();
  std::string_view text = *content;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.starts_with(mark)) {
    auto bytes = from_hex(text.substr(mark.size()));
    if (bytes.ok() && bytes->size() == 32) return bytes;
  }
  return Error{ErrorCode::kInvalidInput, UntrustedText(path).for_log() +
                                             ": this is no key file (expected one line, \"" + std::string(mark) +
                                             "\" and 64 hexadecimal digits)"};
}

}  // namespace

std::string random_bytes(std::size_t count) {
  start_sodium();
  std::string out(count, '\0');
  randombytes_buf(out.data(), out.size());
  return out;
}

SigningKey SigningKey::generate() {
  start_sodium();
  SigningKey key;
  crypto_sign_keypair(key.public_.data(), key.secret_.data());
  return key;
}

Result<SigningKey> SigningKey::from_seed(std::string_view seed) {
  start_sodium();
  if (seed.size() != crypto_sign_SEEDBYTES) return Error{ErrorCode::kInvalidArgument, "a key's seed has 32 bytes"};
  SigningKey key;
  crypto_sign_seed_keypair(key.public_.data(), key.secret_.data(), as_bytes(seed));
  return key;
}

SigningKey::~SigningKey() { sodium_memzero(secret_.data(), secret_.size()); }

Result<SigningKey> SigningKey::load(const std::string& path) {
  auto seed = read_key_file(path, kSecretMark);
  if (!seed) return seed.error();
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return io_error(errno, "look at", path);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Error{ErrorCode::kPermission,
                 UntrustedText(path).for_log() + ": others than its owner may use this secret key (chmod 600 it)"};
  }
  auto key = from_seed(*seed);
  sodium_memzero(seed->data(), seed->size());
  return key;
}

Status SigningKey::save(const std::string& path) const {
  struct stat info {};
  const std::string public_path = path + ".pub";
  if (::lstat(public_path.c_str(), &info) == 0) {
    return Error{ErrorCode::kAlreadyExists,
                 UntrustedText(public_path).for_log() + " is there already: a key is never overwritten"};
  }
  // libsodium's secret key is the seed followed by the public key.
  std::string secret =
      std::string(kSecretMark) + to_hex(std::span<const std::uint8_t>(secret_).first(crypto_sign_SEEDBYTES)) + "\n";
  Status saved = write_new_file(path, secret, S_IRUSR | S_IWUSR);
  sodium_memzero(secret.data(), secret.size());
  if (!saved) return saved;
  return write_new_file(public_path, std::string(kPublicMark) + to_hex(public_) + "\n",
                        S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
}

Signature SigningKey::sign(std::string_view message) const {
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, as_bytes(message), message.size(), secret_.data());
  return signature;
}

bool verify_signature(std::string_view message, const Signature& signature, const PublicKey& key) {
  return crypto_sign_verify_detached(signature.data(), as_bytes(message), message.size(), key.data()) == 0;
}

Result<PublicKey> load_public_key(const std::string& path) {
  const auto bytes = read_key_file(path, kPublicMark);
  if (!bytes) return bytes.error();
  PublicKey key{};
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return key;
}

}  // namespace casemate
