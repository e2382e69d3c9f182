#include "defend/sealed_texts.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

PassageMark mark(ChunkId chunk, const std::string& text) {
  PassageMark out = mark_text(text, ShingleKey{1});
  out.chunk = chunk;
  return out;
}

std::string numbered(int first, int count) {
  std::string out;
  for (int i = first; i < first + count; ++i) out += "w" + std::to_string(i) + " ";
  return out;
}

TEST(SealedTexts, TenThousandCopiesAreOneText) {
  std::vector<PassageMark> marks;
  for (ChunkId id = 10'000; id > 0; --id) marks.push_back(mark(id, numbered(0, 30)));
  marks.push_back(mark(20'000, numbered(100, 30)));
  const SealedTexts texts(marks);
  EXPECT_EQ(texts.size(), 2U);
  const auto equal = texts.equal(mark(0, numbered(0, 30)).text);
  ASSERT_TRUE(equal.has_value());
  EXPECT_EQ(texts.chunks(*equal).size(), 10'000U);
  EXPECT_EQ(texts.chunks(*equal)[0], 1);
  EXPECT_EQ(texts.text_of(777), equal);
  EXPECT_EQ(texts.similar(mark(0, numbered(0, 31)), 16), std::vector<SealedTexts::Index>{*equal});
}

TEST(SealedTexts, FindsNearCopiesAndNothingElse) {
  std::vector<PassageMark> marks;
  for (int i = 0; i < 200; ++i) marks.push_back(mark(i + 1, numbered(1000 * i, 60)));
  const SealedTexts texts(marks);
  for (int i = 0; i < 200; ++i) {
    // Of 56 shingles 44 are shared: J = 44 / 68.
    const auto found = texts.similar(mark(0, numbered(1000 * i + 12, 60)), 16);
    ASSERT_FALSE(found.empty()) << i;
    EXPECT_EQ(texts.chunks(found[0])[0], i + 1);
  }
  EXPECT_TRUE(texts.similar(mark(0, numbered(900'000, 60)), 16).empty());
}

TEST(SealedTexts, EmptyTextsAndUnreadablePassagesHaveNoNearCopies) {
  PassageMark unreadable;
  unreadable.chunk = 3;
  const std::vector<PassageMark> marks = {mark(1, ""), mark(2, "..."), unreadable};
  const SealedTexts texts(marks);
  EXPECT_EQ(texts.size(), 2U);
  EXPECT_FALSE(texts.text_of(3).has_value());
  EXPECT_TRUE(texts.similar(mark(0, ""), 16).empty());
  EXPECT_TRUE(texts.equal(mark(0, " ").text).has_value());
  const SealedTexts none(std::span<const PassageMark>{});
  EXPECT_TRUE(none.similar(mark(0, "a b c"), 16).empty());
}

}  // namespace
}  // namespace casemate
