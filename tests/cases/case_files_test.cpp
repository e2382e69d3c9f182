// Runs every tests/cases/DEFENCE/*.case (README.md there says what stands in one).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <regex>

#include "casemate/core/yaml_options.h"
#include "casemate/defend/defences.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = fs::path(CASEMATE_SOURCE_DIR) / "tests" / "cases";
  return path;
}

std::vector<std::string> case_files() {
  std::vector<std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    if (entry.path().extension() == ".case") out.push_back(fs::relative(entry.path(), folder()).string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Dropped {
  std::optional<std::string> copy_of;
  std::optional<double> cosine;
};

struct Case {
  std::string defence;
  int top_k = 0;
  std::vector<std::string> ids;  ///< of candidate i, whose chunk is i + 1
  std::vector<PassageCandidate> candidates;
  std::vector<std::string> kept;
  std::map<std::string, Dropped> dropped;
  std::optional<std::string> error;
};

template <typename Value>
Value must(Result<Value> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

float number(const std::string& text) {
  return text == ".nan" ? std::numeric_limits<float>::quiet_NaN() : std::stof(text);
}

void read_candidates(const std::string& text, Case& out) {
  static const std::regex kCandidate(R"((\S+)\s+(\S+)\s+\[([^\]]*)\]\s*)");
  static const std::regex kNumber(R"([^\s,]+)");
  std::string rest = text;
  std::smatch found;
  while (!rest.empty()) {
    if (!std::regex_search(rest, found, kCandidate, std::regex_constants::match_continuous))
      throw std::runtime_error("not a candidate: " + rest);
    PassageCandidate candidate;
    candidate.chunk = static_cast<ChunkId>(out.ids.size()) + 1;
    candidate.document = found[1];
    candidate.score = std::stod(found[2]);
    const std::string values = found[3];
    for (std::sregex_iterator it(values.begin(), values.end(), kNumber), end; it != end; ++it)
      candidate.embedding.push_back(number(it->str()));
    out.ids.push_back(found[1]);
    out.candidates.push_back(std::move(candidate));
    rest = found.suffix();
  }
}

void read_expected(const YamlValue& value, Case& out) {
  if (const auto error = value.find("error")) {
    out.error = must(error->text());
    return;
  }
  out.kept = must(value.find("kept").value().texts());
  const auto dropped = value.find("dropped");
  if (!dropped) return;
  for (const std::string& id : dropped->keys()) {
    const YamlValue about = dropped->find(id).value();
    Dropped entry;
    if (const auto copy = about.find("copy_of")) entry.copy_of = must(copy->text());
    if (const auto cosine = about.find("cosine")) entry.cosine = must(cosine->number(-1, 1));
    out.dropped.emplace(id, entry);
  }
}

Case read_case(const std::string& file) {
  const YamlValue value = must(YamlValue::parse_file((folder() / file).string()));
  for (const std::string& key : value.keys()) {
    static const std::vector<std::string> kKnown = {"defence", "top_k", "candidates", "texts", "expect"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) throw std::runtime_error("unknown key " + key);
  }
  Case out;
  out.defence = must(value.find("defence").value().text());
  out.top_k = static_cast<int>(must(value.find("top_k").value().integer(0, 1000)));
  const YamlValue candidates = value.find("candidates").value();
  if (!candidates.is_null()) read_candidates(must(candidates.text()), out);
  if (const auto texts = value.find("texts")) {
    for (const std::string& id : texts->keys()) {
      const auto at = std::find(out.ids.begin(), out.ids.end(), id);
      if (at == out.ids.end()) throw std::runtime_error("a text of " + id + ", which is no candidate");
      out.candidates[static_cast<std::size_t>(at - out.ids.begin())].text =
          UntrustedText(must(texts->find(id).value().text()));
    }
  }
  read_expected(value.find("expect").value(), out);
  return out;
}

Result<DefendedRanking> ranking_of(const Case& one) {
  const auto choice = parse_defence(one.defence);
  if (!choice) return choice.error();
  const auto defence = create_defence(*choice, {});
  if (!defence) return defence.error();
  return (*defence)->rank({}, one.candidates, one.top_k, {});
}

class CaseFile : public testing::TestWithParam<std::string> {};

TEST_P(CaseFile, Holds) {
  const Case one = read_case(GetParam());
  const auto ranking = ranking_of(one);
  if (one.error) {
    ASSERT_FALSE(ranking.ok()) << "expected an error about " << *one.error;
    EXPECT_NE(ranking.error().message.find(*one.error), std::string::npos) << ranking.error().message;
    return;
  }
  ASSERT_TRUE(ranking.ok()) << ranking.error().message;
  std::vector<std::string> kept;
  for (const DefendedPassage& passage : ranking->passages) kept.push_back(one.ids.at(passage.candidate));
  EXPECT_EQ(kept, one.kept);
  std::size_t dropped = 0;
  for (const Verdict& verdict : ranking->verdicts) {
    if (verdict.decision != Decision::kDropped) continue;
    ++dropped;
    const std::string& id = one.ids.at(static_cast<std::size_t>(verdict.chunk) - 1);
    const auto expected = one.dropped.find(id);
    ASSERT_NE(expected, one.dropped.end()) << id << " was dropped: " << verdict.reason;
    if (expected->second.copy_of) {
      ASSERT_TRUE(verdict.copy_of.has_value()) << id;
      EXPECT_EQ(one.ids.at(static_cast<std::size_t>(*verdict.copy_of) - 1), *expected->second.copy_of);
    }
    if (expected->second.cosine) {
      EXPECT_NEAR(verdict.score.value_or(-2), *expected->second.cosine, 1e-3) << id;
    }
  }
  EXPECT_EQ(dropped, one.dropped.size());
}

/// "suppression/rank_one_survives.case" as a test's name.
std::string name_of(const testing::TestParamInfo<std::string>& file) {
  std::string name = file.param.substr(0, file.param.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, CaseFile, testing::ValuesIn(case_files()), name_of);

}  // namespace
}  // namespace casemate
