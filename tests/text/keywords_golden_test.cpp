// Agreement with spaCy: on texts of our own (tests/golden/english_keywords.json, made by
// tools/make_keywords_golden.py), and on spacy_keywords.json, which is not part of the project.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "casemate/text/keywords.h"
#include "support/paths.h"

namespace casemate {
namespace {

using Json = nlohmann::json;
using Strings = std::vector<std::string>;

const KeywordExtractor& extractor() {
  static const auto made = KeywordExtractor::create();
  return **made;
}

Strings words(const std::string& text, const TaggedText& tagged) {
  Strings out;
  for (const TaggedToken& token : tagged.tokens) out.push_back(text.substr(token.span.begin, token.span.size()));
  return out;
}

Strings tags(const TaggedText& tagged) {
  Strings out;
  for (const TaggedToken& token : tagged.tokens) out.emplace_back(token.tag);
  return out;
}

Strings lemmas(const TaggedText& tagged) {
  Strings out;
  for (const TaggedToken& token : tagged.tokens) out.push_back(token.lemma);
  return out;
}

Strings reference_keywords(const std::string& text) {
  Strings out;
  for (const std::string& keyword : extractor().extract(text).keywords) {
    if (!is_stop_or_punctuation(keyword)) out.push_back(keyword);
  }
  return out;
}

double f1(const Strings& expected, const Strings& found) {
  const std::set<std::string> wanted(expected.begin(), expected.end());
  std::size_t common = 0;
  for (const std::string& each : found) common += wanted.count(each);
  const std::size_t both = wanted.size() + found.size();
  return both == 0 ? 1 : 2 * static_cast<double>(common) / static_cast<double>(both);
}

Json read_json(const std::string& path) {
  std::ifstream file(path);
  return Json::parse(file, nullptr, false);
}

class OwnSentences : public testing::Test {
 protected:
  static const Json& golden() {
    static const Json file = read_json(test::golden_path("english_keywords.json"));
    return file;
  }
};

TEST_F(OwnSentences, TokensTagsAndLemmasAreThoseOfSpacy) {
  ASSERT_GE(golden().at("cases").size(), 60U);
  for (const Json& each : golden().at("cases")) {
    const auto text = each.at("text").get<std::string>();
    const TaggedText tagged = extractor().tag(text);
    EXPECT_EQ(tagged.method, KeywordMethod::kEnglishTagger) << text;
    EXPECT_EQ(words(text, tagged), each.at("tokens").get<Strings>()) << text;
    std::vector<bool> spaces;
    for (const TaggedToken& token : tagged.tokens) spaces.push_back(token.space_after);
    EXPECT_EQ(spaces, each.at("spaces").get<std::vector<bool>>()) << text;
    EXPECT_EQ(tags(tagged), each.at("tags").get<Strings>()) << text;
    EXPECT_EQ(lemmas(tagged), each.at("lemmas").get<Strings>()) << text;
  }
}

TEST_F(OwnSentences, KeywordsAreThoseOfSpacy) {
  for (const Json& each : golden().at("cases")) {
    const auto text = each.at("text").get<std::string>();
    EXPECT_EQ(extractor().extract(text).keywords, each.at("keywords").get<Strings>()) << text;
  }
}

TEST_F(OwnSentences, PartsOfSpeechDifferOnlyWhereSpacyAsksItsParser) {
  // VERB or AUX, DET or PRON, ADP or SCONJ: none of them is informative.
  const std::set<std::set<std::string>> by_parser = {{"VERB", "AUX"}, {"DET", "PRON"}, {"ADP", "SCONJ"}};
  std::size_t different = 0;
  std::size_t all = 0;
  for (const Json& each : golden().at("cases")) {
    const TaggedText tagged = extractor().tag(each.at("text").get<std::string>());
    ASSERT_EQ(tagged.tokens.size(), each.at("pos").size());
    for (std::size_t i = 0; i < tagged.tokens.size(); ++i) {
      const std::string found(part_of_speech_name(tagged.tokens[i].part_of_speech));
      const auto expected = each.at("pos")[i].get<std::string>();
      ++all;
      if (found == expected) continue;
      ++different;
      EXPECT_TRUE(by_parser.contains({found, expected})) << each.at("text") << " " << i << ": " << found;
    }
  }
  EXPECT_LT(static_cast<double>(different), 0.02 * static_cast<double>(all));
}

TEST(SpacyGolden, KeywordsAgree) {
  const char* folder = std::getenv("CASEMATE_GOLDEN");
  const std::string path =
      (folder != nullptr ? std::string(folder) : std::string(CASEMATE_SOURCE_DIR) + "/../shared/golden") +
      "/spacy_keywords.json";
  const Json golden = read_json(path);
  if (golden.is_discarded()) GTEST_SKIP() << path << " is not here (its texts may not be passed on)";
  double sum = 0;
  double sum_all = 0;
  std::size_t exact = 0;
  std::size_t same_tokens = 0;
  std::size_t same_tags = 0;
  const Json& items = golden.at("items");
  for (const Json& item : items) {
    const auto text = item.at("text").get<std::string>();
    const auto expected = item.at("keywords_reference").get<Strings>();
    const Strings found = reference_keywords(text);
    sum += f1(expected, found);
    sum_all += f1(item.at("keywords_all").get<Strings>(), extractor().extract(text).keywords);
    exact +=
        std::set<std::string>(found.begin(), found.end()) == std::set<std::string>(expected.begin(), expected.end());
    const TaggedText tagged = extractor().tag(text);
    same_tokens += words(text, tagged) == item.at("tokens").get<Strings>();
    same_tags += tags(tagged) == item.at("tags").get<Strings>();
  }
  const auto count = static_cast<double>(items.size());
  std::cout << "keywords_reference: F1 " << sum / count << ", exact " << static_cast<double>(exact) / count
            << "; keywords_all: F1 " << sum_all / count << "; texts with the same tokens "
            << static_cast<double>(same_tokens) / count << ", tags " << static_cast<double>(same_tags) / count << '\n';
  EXPECT_EQ(items.size(), 200U);
  EXPECT_GE(sum / count, 0.995);
  EXPECT_GE(sum_all / count, 0.995);
  EXPECT_GE(static_cast<double>(exact) / count, 0.97);
  EXPECT_GE(static_cast<double>(same_tokens) / count, 0.99);
}

}  // namespace
}  // namespace casemate
