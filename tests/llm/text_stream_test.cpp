#include "llm/text_stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "casemate/core/random.h"
#include "casemate/core/utf8.h"
#include "llm/sampling.h"

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

TEST(SamplingTest, ThePropertiesOfTheDrawsFollowTheProbabilities) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  GenerateOptions options;
  options.temperature = 1;
  RandomStream random(1, "draws");
  std::vector<int> counts(4, 0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(choose(logits, options, random))];
  EXPECT_NEAR(counts[0], 0.5 * kDraws, 300);
  EXPECT_NEAR(counts[3], 0.05 * kDraws, 150);
  options.top_p = 0.7;  // the first two reach it
  for (int i = 0; i < 1000; ++i) EXPECT_LT(choose(logits, options, random), 2);
}

TEST(SamplingTest, EqualLogitsGiveTheLowestIdAndNotANumberGivesAnError) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_FALSE(log_softmax(std::vector<float>{1, NAN}).ok());
  EXPECT_FALSE(log_softmax(std::vector<float>{-INFINITY, -INFINITY}).ok());
  EXPECT_EQ(log_softmax(std::vector<float>{1000, -INFINITY}).value()[0], 0.0F);
}

}  // namespace
}  // namespace casemate::llm
