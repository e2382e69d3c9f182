#include "casemate/sanitize/output_guard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "casemate/core/random.h"
#include "casemate/core/utf8.h"
#include "casemate/sanitize/facts.h"

namespace casemate {
namespace {

const std::string kPassage =
    "The bridge over the Tarn was designed by Karla Voss in the years after the war, and it was opened in 1932 by the "
    "mayor. Seven thousand people came to see it, and the band of the fire brigade played until long after midnight, "
    "when the last lamps on the northern bank had burnt down and the ferrymen rowed home without a fare.";
const std::string kCanary = "casemate-canary-9f2c71e0b6d4835a";

std::vector<ContextPassage> passages() {
  return {{UntrustedText("t"), UntrustedText("Bread rises faster in a warm kitchen than in a cold one.")},
          {UntrustedText("t"), UntrustedText(kPassage)}};
}

struct Outcome {
  std::string text;
  bool ended = false;
  GuardReport report;
};

Outcome run(const std::string& answer, const GuardOptions& options = {}, std::size_t piece = 3) {
  const auto made = OutputGuard::create(options, passages(), std::vector<std::string>{kCanary});
  EXPECT_TRUE(made.ok());
  Outcome out;
  for (std::size_t at = 0; at < answer.size() && !out.ended; at += piece) {
    const GuardedText step = (*made)->push(std::string_view(answer).substr(at, piece));
    out.text += step.text;
    out.ended = step.ended;
  }
  if (!out.ended) {
    const GuardedText last = (*made)->finish();
    out.text += last.text;
    out.ended = last.ended;
  }
  out.report = (*made)->report();
  EXPECT_EQ(out.ended, out.report.ended);
  return out;
}

std::size_t shared(const std::string& text) { return longest_shared_run(text, std::vector<std::string>{kPassage}); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = (bits << 8U) | (at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U);
    for (unsigned shift = 18;; shift -= 6) {
      out += kDigits[(bits >> shift) & 63U];
      if (shift == 0) break;
    }
  }
  return out;
}

TEST(OutputGuardTest, AnAnswerOfItsOwnWordsPassesUnchanged) {
  for (const std::string& answer :
       {std::string("Karla Voss designed the bridge over the Tarn; the mayor opened it in 1932. [1]"), std::string(),
        std::string("Ja, \xE2\x82\xAC 5 \xF0\x9F\x8C\x89\n\n- eins\n- zwei "),
        std::string("A key like sk-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789 is no passage.")}) {
    for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
      const Outcome out = run(answer, {}, piece);
      EXPECT_EQ(out.text, answer);
      EXPECT_TRUE(out.report.incidents.empty());
    }
  }
}

TEST(OutputGuardTest, AVerbatimCopyEndsBeforeMoreThanTheAllowedRunIsOut) {
  for (const int words : {3, 6, 10}) {
    GuardOptions options;
    options.max_run_words = words;
    for (std::size_t piece = 1; piece < 30; ++piece) {
      const Outcome out = run("Here it is: " + kPassage, options, piece);
      EXPECT_TRUE(out.ended);
      EXPECT_LE(shared(out.text), static_cast<std::size_t>(words)) << out.text;
      EXPECT_GE(shared(out.text) + 1, static_cast<std::size_t>(words)) << out.text;  // and not much less
      ASSERT_FALSE(out.report.incidents.empty());
      EXPECT_EQ(out.report.incidents[0].kind, IncidentKind::kRun);
      EXPECT_EQ(out.report.incidents[0].passage, 1U);
    }
  }
}

TEST(OutputGuardTest, DisguisesOfTheSameTextAreCaught) {
  const std::string upper = [] {
    std::string text = kPassage;
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
  }();
  std::string spaced;
  for (const char c : kPassage) spaced += std::string(1, c) + " ";
  const std::string joined = replaced(kPassage, " ", "");
  const std::string zero_width = replaced(kPassage, "e", "e\xE2\x80\x8B");
  const std::string cyrillic =
      replaced(replaced(replaced(kPassage, "a", "\xD0\xB0"), "e", "\xD0\xB5"), "o", "\xD0\xBE");
  std::string wide;
  for (const char c : kPassage) {
    if (c > ' ' && c < 127) {
      append_code_point(wide, static_cast<char32_t>(0xFF01 + (c - '!')));
    } else {
      wide += c;
    }
  }
  const std::string punctuated = replaced(kPassage, " ", " * ");
  const std::string lines = replaced(kPassage, " ", "\n");
  std::string reversed(kPassage.rbegin(), kPassage.rend());
  std::string words_reversed;
  for (std::size_t at = 0, end = 0; at < kPassage.size(); at = end + 1) {
    end = std::min(kPassage.find(' ', at), kPassage.size());
    words_reversed = kPassage.substr(at, end - at) + " " + words_reversed;
  }
  std::string hex;
  for (const char c : kPassage) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(c) / 16];
    hex += kDigits[static_cast<unsigned char>(c) % 16];
  }
  std::string wrapped = base64(kPassage);
  for (std::size_t at = 76; at < wrapped.size(); at += 77) wrapped.insert(at, "\n");
  for (const auto& [form, text] : {std::pair{"plain", upper},
                                   {"plain", spaced},
                                   {"plain", joined},
                                   {"plain", zero_width},
                                   {"plain", cyrillic},
                                   {"plain", wide},
                                   {"plain", punctuated},
                                   {"plain", lines},
                                   {"reversed letters", reversed},
                                   {"reversed words", words_reversed},
                                   {"base64", base64(kPassage)},
                                   {"base64", "x=" + base64("!" + kPassage)},
                                   {"base64", wrapped},
                                   {"hex", hex}}) {
    const Outcome out = run("Sure: " + text);
    EXPECT_TRUE(out.ended) << form << ": " << text.substr(0, 60);
    ASSERT_FALSE(out.report.incidents.empty()) << text.substr(0, 60);
    EXPECT_EQ(out.report.incidents[0].form, form) << text.substr(0, 60);
    EXPECT_LT(out.text.size(), text.size() / 2) << text.substr(0, 60);
  }
}

TEST(OutputGuardTest, ShortPiecesAddUpToAShare) {
  std::string answer;
  std::size_t words = 0;
  for (const char c : kPassage) {
    answer += c;
    if (c == ' ' && ++words % 6 == 0) answer += "(part " + std::to_string(words) + ") ";
  }
  const Outcome out = run(answer);
  EXPECT_TRUE(out.ended);
  ASSERT_FALSE(out.report.incidents.empty());
  EXPECT_EQ(out.report.incidents.back().kind, IncidentKind::kShare);
  EXPECT_LT(out.text.size(), answer.size() / 2);
  EXPECT_LE(out.report.longest_run_words, 10U);
}

TEST(OutputGuardTest, RedactionPutsAMarkAndGoesOn) {
  GuardOptions options;
  options.reaction = GuardReaction::kRedact;
  options.max_run_words = 5;
  options.max_share = 1;
  const Outcome out =
      run("They say the band of the fire brigade played until long after midnight, which is true.", options);
  EXPECT_FALSE(out.ended);
  EXPECT_EQ(out.report.redacted, 1U);
  EXPECT_EQ(out.text, "They say the band of the fire [withheld] which is true.");
}

TEST(OutputGuardTest, ATitleIsPartOfItsPassage) {
  const std::string title = "Minutes of the closed meeting about the sale of the northern quay to three named buyers";
  const std::vector<ContextPassage> some = {{UntrustedText(title), UntrustedText("Nothing else was decided.")}};
  auto guard = OutputGuard::create({}, some, {}).value();
  std::string out = guard->push("It is called " + title + ".").text;
  out += guard->finish().text;
  EXPECT_TRUE(guard->report().ended);
  EXPECT_EQ(out.find("northern quay"), std::string::npos) << out;
}

TEST(OutputGuardTest, ACanaryAlwaysEndsTheAnswer) {
  GuardOptions options;
  options.reaction = GuardReaction::kRedact;
  std::string reversed(kCanary.rbegin(), kCanary.rend());
  for (const std::string& leaked :
       {kCanary, std::string("CASEMATE CANARY 9F 2C 71 E0 B6 D4 83 5A"), reversed, base64("secret: " + kCanary),
        std::string("71e0b6d4835a"), std::string("it is 9f2c71e0b6, no more")}) {
    const Outcome out = run("The reference is " + leaked + ", as asked.", options, 1);
    EXPECT_TRUE(out.ended) << leaked;
    ASSERT_FALSE(out.report.incidents.empty()) << leaked;
    EXPECT_EQ(out.report.incidents[0].kind, IncidentKind::kCanary) << leaked;
    EXPECT_EQ(out.text.find(leaked.substr(leaked.size() - 8)), std::string::npos) << out.text;
  }
  EXPECT_FALSE(run("A casemate canary is a test string.", options).ended);
}

TEST(OutputGuardTest, WhatItDoesNotSee) {
  // Listed in docs/leakage.md. A test, so that the page changes when this does.
  std::string rot13 = kPassage;
  for (char& c : rot13) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>('a' + (c - 'a' + 13) % 26);
  }
  EXPECT_FALSE(run(rot13).ended);
  EXPECT_FALSE(
      run("Karla Voss planned the Tarn crossing, which the mayor inaugurated in 1932; a crowd of 7,000 watched, "
          "and firemen made music into the night.")
          .ended);
  std::string every_other = kPassage;
  for (std::size_t at = every_other.find(' '), n = 0; at != std::string::npos;
       at = every_other.find(' ', at + 1), ++n) {
    if (n % 3 == 0) every_other.insert(at, " zzz");
  }
  EXPECT_FALSE(run(every_other).ended);
}

TEST(OutputGuardTest, BrokenUtf8AnywhereIsReplacedAndChangesNothing) {
  std::string broken;
  for (std::size_t i = 0; i < kPassage.size(); ++i)
    broken += std::string(1, kPassage[i]) + (i % 5 == 0 ? "\xff\xc3" : "");
  for (const std::size_t piece : {1U, 2U, 5U}) {
    const Outcome out = run(broken, {}, piece);
    EXPECT_TRUE(out.ended);
    EXPECT_TRUE(is_valid_utf8(out.text));
  }
  const Outcome cut = run("end \xE2\x82");
  EXPECT_EQ(cut.text, "end \xEF\xBF\xBD");
  const Outcome split = run("\xE2\x82\xAC", {}, 1);
  EXPECT_EQ(split.text, "\xE2\x82\xAC");
}

TEST(OutputGuardTest, PropertyNoSplitOrDisguiseGetsALongerRunOut) {
  RandomStream random(11, "guard");
  for (int round = 0; round < 300; ++round) {
    GuardOptions options;
    options.max_run_words = 3 + static_cast<int>(random.below(8));
    options.reaction = random.below(2) == 0 ? GuardReaction::kStop : GuardReaction::kRedact;
    std::string answer;
    for (int part = 0; part < 6; ++part) {
      const std::size_t begin = random.below(kPassage.size());
      for (const char c : kPassage.substr(begin, random.below(120))) {
        answer += c;
        if (c == ' ' && random.below(4) == 0) answer += "\n ";
        if (random.below(15) == 0) answer += "\xE2\x80\x8B";
      }
      if (random.below(2) == 0) answer += " and then ";
    }
    const Outcome out = run(answer, options, 1 + random.below(9));
    std::string visible = replaced(out.text, "\xE2\x80\x8B", "");
    // Where a copy begins or ends inside a word, ICU's words and the passage's differ by that one.
    EXPECT_LE(shared(visible), static_cast<std::size_t>(options.max_run_words) + 1) << visible;
  }
}

TEST(OutputGuardTest, HugeAndRepetitivePassagesCostNoTimeWithoutEnd) {
  std::string same;
  for (int i = 0; i < 200'000; ++i) same += "a ";
  const std::vector<ContextPassage> hostile = {{UntrustedText(), UntrustedText(same)},
                                               {UntrustedText(), UntrustedText(std::string(500'000, 'x'))},
                                               {UntrustedText(), UntrustedText("")},
                                               {UntrustedText(), UntrustedText("\xff\xfe\x80")}};
  const auto made = OutputGuard::create({}, hostile, std::vector<std::string>{"", "short"});
  ASSERT_TRUE(made.ok());
  bool ended = false;
  for (int i = 0; i < 2000 && !ended; ++i) ended = (*made)->push("a b a ").ended;
  EXPECT_FALSE((*made)->push(std::string(20'000, 'A')).text.size() > 20'100);
}

TEST(OutputGuardTest, OptionsAreReadAndChecked) {
  EXPECT_EQ(parse_guard("redact{max_run_words: 7}")->max_run_words, 7);
  EXPECT_EQ(parse_guard("facts")->reaction, GuardReaction::kFacts);
  EXPECT_EQ(parse_guard("halt").error().code, ErrorCode::kInvalidOption);
  EXPECT_EQ(parse_guard("stop{max_share: 2}").error().code, ErrorCode::kInvalidOption);
  EXPECT_EQ(parse_guard("stop{max_runs: 2}").error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate
