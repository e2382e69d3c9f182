#include "casemate/core/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace casemate {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd"};
  return value / 2;
}

TEST(Result, HoldsEitherTheValueOrTheError) {
  const Result<int> good = half(4);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 2);
  const Result<int> bad = half(3);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "odd");
}

TEST(Result, MovesOutValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(Result, AskingForTheAbsentSideAborts) {
  EXPECT_DEATH((void)half(3).value(), "");
  EXPECT_DEATH((void)half(4).error(), "");
}

TEST(Error, ContextGoesBeforeTheMessage) { EXPECT_EQ((Error{ErrorCode::kIo, "no"}.in("a.txt").message), "a.txt: no"); }

TEST(ErrorCode, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kCancelled); ++code)
    names.insert(error_code_name(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::kCancelled) + 1);
  EXPECT_FALSE(names.contains("Unknown"));
}

}  // namespace
}  // namespace casemate
