#include "casemate/core/signing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

// RFC 8032, section 7.1, TEST 3.
constexpr char kSeed[] = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
constexpr char kPublic[] = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025";
constexpr char kSignature[] =
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";

SigningKey rfc_key() { return *SigningKey::from_seed(*from_hex(kSeed)); }

TEST(Signing, AgreesWithRfc8032) {
  const SigningKey key = rfc_key();
  EXPECT_EQ(to_hex(key.public_key()), kPublic);
  EXPECT_EQ(to_hex(key.sign("\xaf\x82")), kSignature);
  EXPECT_TRUE(verify_signature("\xaf\x82", key.sign("\xaf\x82"), key.public_key()));
}

TEST(Signing, AnyOtherMessageSignatureOrKeyIsRefused) {
  const SigningKey key = rfc_key();
  Signature signature = key.sign("a message");
  EXPECT_FALSE(verify_signature("a messagf", signature, key.public_key()));
  EXPECT_FALSE(verify_signature("a message", signature, SigningKey::generate().public_key()));
  for (std::uint8_t& byte : signature) {
    byte ^= 1U;
    EXPECT_FALSE(verify_signature("a message", signature, key.public_key()));
    byte ^= 1U;
  }
}

TEST(Signing, AKeyComesBackFromItsFileAndIsReadableByItsOwnerAlone) {
  test::TemporaryFolder folder;
  const std::string path = folder.path("owner.key");
  const SigningKey key = SigningKey::generate();
  ASSERT_TRUE(key.save(path).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto loaded = SigningKey::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->public_key(), key.public_key());
  EXPECT_EQ(*load_public_key(path + ".pub"), key.public_key());
  EXPECT_EQ(key.save(path).error().code, ErrorCode::kAlreadyExists);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(SigningKey::load(path).error().code, ErrorCode::kPermission);
}

TEST(Signing, OtherFilesAreNoKeys) {
  test::TemporaryFolder folder;
  const std::string path = folder.path("owner.key");
  ASSERT_TRUE(SigningKey::generate().save(path).ok());
  EXPECT_EQ(SigningKey::load(path + ".pub").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(load_public_key(path).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(load_public_key(folder.path("none")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(SigningKey::from_seed("short").error().code, ErrorCode::kInvalidArgument);
}

TEST(Signing, RandomBytesDiffer) {
  EXPECT_EQ(random_bytes(16).size(), 16U);
  EXPECT_NE(random_bytes(16), random_bytes(16));
}

}  // namespace
}  // namespace casemate
