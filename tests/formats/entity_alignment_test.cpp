#include "formats/entity_alignment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace casemate {
namespace {

/// The bytes of `original` that the first `part` of `decoded` comes from.
std::string origin(const std::string& original, const std::string& decoded, const std::string& part) {
  OffsetMap map;
  align_decoded(original, 0, decoded, map);
  EXPECT_EQ(map.text_size(), decoded.size());
  const std::size_t at = decoded.find(part);
  const ByteSpan span = map.to_source({at, at + part.size()});
  return original.substr(span.begin, span.size());
}

TEST(EntityAlignment, ReferencesAreReadAsTheLongestThatFits) {
  EXPECT_EQ(origin("a&amp;amp;b", "a&amp;b", "&"), "&amp;");
  EXPECT_EQ(origin("a&amp;amp;b", "a&amp;b", "amp;"), "amp;");
  EXPECT_EQ(origin("AT&T &foo; x", "AT&T &foo; x", "&foo;"), "&foo;");
  EXPECT_EQ(origin("x &copy2024 y",
                   "x \xC2\xA9"
                   "2024 y",
                   "2024"),
            "2024");
  EXPECT_EQ(origin("&NotEqualTilde;z", "\xE2\x89\x82\xCC\xB8z", "z"), "z");  // one reference, two characters
}

TEST(EntityAlignment, LineEndsAndDroppedTagsAreSteppedOver) {
  EXPECT_EQ(origin("a\r\nb\rc", "a\nb\nc", "b"), "b");
  EXPECT_EQ(origin("a\r\nb\rc", "a\nb\nc", "c"), "c");
  EXPECT_EQ(origin("one</nothing> two", "one two", "two"), "two");
}

TEST(EntityAlignment, TextsThatDoNotMatchCorrespondAsAWhole) {
  EXPECT_EQ(origin("same other", "same thing", "same"), "same");
  EXPECT_EQ(origin("same other", "same thing", "thing"), "other");
}

TEST(EntityAlignment, AmpersandsWithoutEndTakeLinearTime) {
  const std::string text(2'000'000, '&');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(origin(text + "&lt;x", text + "<x", "x"), "x");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace casemate
