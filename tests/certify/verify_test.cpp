// The verifier by itself, on the stored files: this program links none of the code that makes certificates.
#include "casemate/certify/verify.h"

#include <gtest/gtest.h>

#include "casemate/core/file_system.h"
#include "support/paths.h"

namespace casemate {
namespace {

TEST(Verifier, ChecksStoredCertificatesWithoutTheCodeThatMakesThem) {
  const auto key = load_public_key(test::golden_path("certificates/key.pub"));
  ASSERT_TRUE(key.ok()) << key.error().message;
  for (const char* name : {"voting", "keyword", "keyword_sets", "decoding", "decoding_fallback", "composed"}) {
    const auto file = read_file(test::golden_path(std::string("certificates/") + name + ".json"));
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto found = verify_certificate(*file, {*key});
    ASSERT_TRUE(found.ok()) << name << ": " << found.error().message;
    EXPECT_TRUE(found->holds()) << name;
    EXPECT_GE(found->certificate.k_prime, 1);
    PublicKey other = *key;
    other[0] ^= 1;
    EXPECT_FALSE(verify_certificate(*file, {other})->holds());
  }
}

}  // namespace
}  // namespace casemate
