#include "casemate/core/named_options.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

TEST(NamedOptions, AreANameAndWhatStandsInBraces) {
  EXPECT_EQ(split_named_options("suppression").name, "suppression");
  EXPECT_EQ(split_named_options("suppression").options, "{}");
  const NamedOptions spaced = split_named_options("ragmask : {delta: 0.2}");
  EXPECT_EQ(spaced.name, "ragmask");
  EXPECT_EQ(spaced.options, "{delta: 0.2}");
  EXPECT_EQ(split_named_options("").name, "");
  EXPECT_EQ(split_named_options("{a: 1}").name, "");
}

TEST(NamedOptions, MustBeAMap) {
  EXPECT_TRUE(parse_named_options("x", "{}").ok());
  EXPECT_TRUE(parse_named_options("x", "{a: [1, 2]}").ok());
  EXPECT_EQ(parse_named_options("x", "{a, b").error().code, ErrorCode::kInvalidInput);
  const auto list = parse_named_options("x", "[a]");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(list.error().message.find("x: options"), std::string::npos);
}

TEST(ReadChoice, TakesAKnownNameKeepsTheDefaultForNoneAndListsTheOthers) {
  enum class Colour { kRed, kBlue };
  constexpr std::array<std::pair<std::string_view, Colour>, 2> kColours = {
      {{"red", Colour::kRed}, {"blue", Colour::kBlue}}};
  Colour colour = Colour::kRed;
  EXPECT_TRUE(read_choice("", "colour", kColours, colour).ok());
  EXPECT_EQ(colour, Colour::kRed);
  EXPECT_TRUE(read_choice("blue", "colour", kColours, colour).ok());
  EXPECT_EQ(colour, Colour::kBlue);
  const Status wrong = read_choice("green", "colour", kColours, colour);
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("red, blue"), std::string::npos);
  EXPECT_EQ(colour, Colour::kBlue);
}

}  // namespace
}  // namespace casemate
