#include "casemate/core/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace casemate {
namespace {

TEST(Decimal, CountsExactlyWhereDoublesDoNot) {
  EXPECT_EQ(Decimal::parse("0.07")->times_rounded_up(100), 7);  // 0.07 * 100 > 7 in doubles
  EXPECT_EQ(Decimal::parse("0.28")->times_rounded_up(25), 7);
  EXPECT_EQ(Decimal::parse("0.28")->times_rounded_up(26), 8);
  EXPECT_EQ(Decimal::parse("0.000000001")->times_rounded_up(1), 1);
  EXPECT_EQ(Decimal::parse("0.3")->times_rounded_up(0), 0);
}

TEST(Decimal, KeepsWhatAPersonWrote) {
  for (const char* text : {"0", "0.3", "3", "2.5", "0.000000001", "999999.999999999"}) {
    EXPECT_EQ(Decimal::parse(text)->text(), text);
  }
  EXPECT_EQ(Decimal::parse("2.50")->text(), "2.5");
  EXPECT_EQ(Decimal::from(0.07)->text(), "0.07");
  EXPECT_EQ(Decimal::from(0.1 + 0.2).ok(), false);  // 0.30000000000000004: not what anybody wrote
}

TEST(Decimal, RefusesEverythingElse) {
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", " 1", "0x1", "1,5", "1.0000000001", "1000000", "nan"}) {
    EXPECT_FALSE(Decimal::parse(text).ok()) << text;
  }
  EXPECT_FALSE(Decimal::from(NAN).ok());
  EXPECT_FALSE(Decimal::from(std::numeric_limits<double>::infinity()).ok());
  EXPECT_FALSE(Decimal::from(-0.5).ok());
}

}  // namespace
}  // namespace casemate
