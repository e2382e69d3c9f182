#include "casemate/core/hash.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

// FIPS 180-2 and RFC 7693-style vectors ("abc").
TEST(Hash, Sha256OfAbc) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Hash, Blake2b256OfAbc) {
  EXPECT_EQ(to_hex(blake2b("abc")), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  for (const auto kind : {Hasher::Kind::kSha256, Hasher::Kind::kBlake2b}) {
    Hasher hasher(kind);
    hasher.update("a");
    hasher.update("");
    hasher.update("bc");
    EXPECT_EQ(hasher.finish(), kind == Hasher::Kind::kSha256 ? sha256("abc") : blake2b("abc"));
  }
}

TEST(Hash, FieldsAreHashedWithTheirLengths) {
  EXPECT_EQ(FieldHasher().add("ab").add("").add_raw("xy").finish(), blake2b("2:ab0:xy"));
  EXPECT_NE(FieldHasher().add("ab").add("c").finish(), FieldHasher().add("a").add("bc").finish());
  // Stores and passage states on disk have these forms.
  const std::string length("\2\0\0\0\0\0\0\0", 8);
  const std::string minus_one(8, '\xff');
  EXPECT_EQ(FieldHasher(FieldHasher::Lengths::kBinary).add("ab").add(std::int64_t{-1}).finish(),
            blake2b(length + "ab" + minus_one));
  const Digest digest = blake2b("x");
  EXPECT_EQ(FieldHasher().add(digest).finish(),
            blake2b("32:" + std::string(reinterpret_cast<const char*>(digest.data()), digest.size())));
}

TEST(Hash, AKeyChangesTheHash) { EXPECT_NE(blake2b_keyed("abc", "k"), blake2b("abc")); }

TEST(Hash, HexGoesBothWaysAndRefusesOtherDigits) {
  const std::uint8_t bytes[] = {0, 255, 16};
  EXPECT_EQ(to_hex(bytes), "00ff10");
  EXPECT_EQ(*from_hex("00ff10"), std::string("\0\xff\x10", 3));
  EXPECT_FALSE(from_hex("0").ok());
  EXPECT_FALSE(from_hex("zz").ok());
}

}  // namespace
}  // namespace casemate
