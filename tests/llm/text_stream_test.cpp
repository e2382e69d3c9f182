#include "llm/text_stream.h"

#include <gtest/gtest.h>

#include "casemate/core/random.h"
#include "casemate/core/utf8.h"

namespace casemate::llm {
namespace {

/// Pushes `text` in random cuts and returns what was streamed.
std::string stream_in_pieces(const std::string& text, const std::vector<std::string>& stop, std::uint64_t seed,
                             bool* met = nullptr) {
  std::string out;
  const OnText on_text = [&](std::string_view piece) {
    EXPECT_TRUE(is_valid_utf8(piece));
    out += piece;
    return true;
  };
  TextStream stream(stop, on_text);
  RandomStream random(seed, "cuts");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = 1 + random.below(4);
    if (!stream.push(std::string_view(text).substr(at, length))) break;
    at += length;
  }
  stream.finish();
  EXPECT_EQ(out, stream.text());
  if (met != nullptr) *met = stream.met_stop_string();
  return out;
}

TEST(TextStreamTest, ValidTextComesOutUnchangedHoweverItIsCut) {
  const std::string text = "naïve 東京 😀 plain \xf4\x8f\xbf\xbf end";
  for (std::uint64_t seed = 0; seed < 200; ++seed) EXPECT_EQ(stream_in_pieces(text, {}, seed), text);
}

TEST(TextStreamTest, BrokenBytesBecomeTheSameReplacementsHoweverTheyAreCut) {
  const std::string text = "a\xff\xfe b\xe2\x82 c\xc0\xaf d\xf0\x9f\x98";
  for (std::uint64_t seed = 0; seed < 200; ++seed) EXPECT_EQ(stream_in_pieces(text, {}, seed), to_valid_utf8(text));
}

TEST(TextStreamTest, TextEndsBeforeTheFirstStopStringHoweverItIsCut) {
  const std::vector<std::string> stop = {"END", "\n\n", "ENDING"};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    bool met = false;
    EXPECT_EQ(stream_in_pieces("one EN two E\nthree ENDING four", stop, seed, &met), "one EN two E\nthree ");
    EXPECT_TRUE(met);
    EXPECT_EQ(stream_in_pieces("nothing EN E\n", stop, seed, &met), "nothing EN E\n");
    EXPECT_FALSE(met);
  }
}

}  // namespace
}  // namespace casemate::llm
