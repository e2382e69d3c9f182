#include "casemate/core/utf8.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

TEST(Utf8, EveryScalarValueGoesThereAndBack) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    std::string text;
    append_code_point(text, value);
    const CodePoint read = read_code_point(text, 0);
    ASSERT_EQ(read.value, value);
    ASSERT_EQ(read.length, text.size());
  }
}

TEST(Utf8, BrokenSequencesAreReplacedByTheirMaximalPrefix) {
  // The example of the Unicode standard, table 3-8 (U+FFFD per maximal subpart).
  const std::string fffd = "\xEF\xBF\xBD";
  EXPECT_EQ(to_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + fffd + fffd + fffd + "b" + fffd + "c" + fffd + fffd + "d");
}

TEST(Utf8, OverlongFormsSurrogatesAndTooLargeValuesAreBroken) {
  for (const char* text :
       {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xC3", "\x80"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << text;
  }
  EXPECT_TRUE(is_valid_utf8(std::string_view("\0\xEF\xBF\xBD", 4)));
}

TEST(Utf8, CodePointsAreCountedAndABrokenSequenceIsOne) {
  EXPECT_EQ(count_code_points(""), 0U);
  EXPECT_EQ(count_code_points("a\xC3\xA9\xF0\x9F\x98\x80"), 3U);
  EXPECT_EQ(count_code_points("\xFF\xE2\x82"), 2U);
}

TEST(Utf8, PrefixEndsBetweenCodePoints) {
  const std::string text = "a\xE2\x82\xAC";  // a, euro sign
  EXPECT_EQ(utf8_prefix(text, 3), "a");
  EXPECT_EQ(utf8_prefix(text, 4), text);
  EXPECT_EQ(utf8_prefix(text, 0), "");
}

TEST(Utf8, InvisibleCharactersAreKnown) {
  for (const char32_t value : {0x200B, 0x202E, 0x2066, 0xFEFF, 0xE0041, 0x00AD, 0x2060}) {
    EXPECT_TRUE(is_invisible(static_cast<char32_t>(value)));
  }
  EXPECT_FALSE(is_invisible(U'a'));
  EXPECT_FALSE(is_invisible(U' '));
}

}  // namespace
}  // namespace casemate
