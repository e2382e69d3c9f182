#include "casemate/core/untrusted_text.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace casemate {
namespace {

TEST(UntrustedText, DoesNotConvertToAString) {
  static_assert(!std::is_convertible_v<UntrustedText, std::string>);
  static_assert(!std::is_convertible_v<std::string, UntrustedText>);
  SUCCEED();
}

TEST(UntrustedText, NoEscapeSequenceReachesATerminal) {
  const UntrustedText text("\x1b[31mred\x07\nnext\xff");
  const std::string shown = text.for_terminal();
  EXPECT_EQ(shown, "\\u{1b}[31mred\\u{7}\nnext\\xff");
}

TEST(UntrustedText, ALogEntryStaysOneLineAndIsCut) {
  EXPECT_EQ(UntrustedText("a\nb").for_log(), "a\\u{a}b");
  EXPECT_EQ(UntrustedText("\xE2\x80\xAE"
                          "x")
                .for_log(),
            "\\u{202e}x");
  EXPECT_EQ(UntrustedText(std::string(500, 'x')).for_log(10), "xxxxxxxxxx...");
}

TEST(UntrustedText, HtmlIsShownAsText) {
  EXPECT_EQ(UntrustedText("<script>'\"&").for_html(), "&lt;script&gt;&#39;&quot;&amp;");
}

TEST(UntrustedText, PromptsGetValidUtf8WithoutControls) {
  EXPECT_EQ(UntrustedText(std::string("a\0b\xC0", 4)).for_prompt(), "a b\xEF\xBF\xBD");
}

}  // namespace
}  // namespace casemate
