#include "llm/gbnf.h"

#include <gmock/gmock.h>
#include <llama.h>

#include <memory>
#include <string>
#include <vector>

#include "casemate/core/random.h"

namespace casemate::llm {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string>& good_grammars() {
  static const std::vector<std::string> grammars = {
      "root ::= \"yes\" | \"no\"",
      "# an answer\nroot ::= (\n  first |\n  second # or this\n)+ \"\\n\"\nfirst ::= [a-z]{2,4}\nsecond ::= "
      "[^\\x00-\\x1F\\]-]*",
      "root ::= ws \"{\" ( pair (\",\" ws pair)* )? \"}\"\npair ::= string \":\" ws value ws\n"
      "string ::= \"\\\"\" ( [^\"\\\\] | \"\\\\\" ([\"bfnrt] | \"u\" [0-9a-fA-F]{4}) )* \"\\\"\"\n"
      "value ::= string | (\"true\" | \"false\" | \"null\") | <[7]> | !<[8]>\nws ::= [ \\t\\n]{0,20}\n",
      "root ::= a{2} b{2,} c{0,3} .\r\na ::= \"\xC3\xBC\"\rb ::= \"\" | \"\\u00fc\" a? a+\nc ::= ((a | b){3} \"x\"){4}",
  };
  return grammars;
}

Status check(const std::string& text) {
  return check_gbnf(text, [](std::string_view) { return false; });
}

/// What llama.cpp itself says, and what it prints.
struct Verdict {
  bool parsed = false;
  std::string printed;
};
Verdict ask_llama(const std::string& text) {
  static std::string log;
  log.clear();
  llama_log_set([](ggml_log_level, const char* line, void*) { log += line; }, nullptr);
  ::testing::internal::CaptureStderr();
  llama_sampler* sampler = llama_sampler_init_grammar(nullptr, text.c_str(), "root");
  Verdict out;
  out.printed = ::testing::internal::GetCapturedStderr();
  if (sampler != nullptr) llama_sampler_free(sampler);
  out.parsed =
      log.find("failed to parse grammar") == std::string::npos && log.find("does not contain") == std::string::npos;
  return out;
}

TEST(Gbnf, GoodGrammarsPass) {
  for (const std::string& grammar : good_grammars()) {
    const Status good = check(grammar);
    EXPECT_TRUE(good.ok()) << grammar << "\n" << good.error().message;
    EXPECT_TRUE(ask_llama(grammar).parsed) << grammar;
  }
}

TEST(Gbnf, TheErrorSaysWhereAndWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no rule named root"},
      {"# nothing", "no rule named root"},
      {"other ::= \"x\"", "no rule named root"},
      {"root ::= \"unclosed", "line 1, column 19: unexpected end of input"},
      {"root ::= [a-", "unexpected end of input"},
      {"root ::= \"a\"\nroot2 = \"b\"", "line 2, column 7: expecting ::="},
      {"root ::= (\"a\" | b", "expecting ), found the end"},
      {"root ::= * \"a\"", "line 1, column 10: expecting an item before"},
      {"root ::= \"\\q\"", "unknown escape"},
      {"root ::= \"\\u12\"", "expecting 4 hexadecimal digits"},
      {"root ::= \"a\"{x}", "expecting a number"},
      {"root ::= \"a\"{2;", "expecting ,"},
      {"root ::= \"a\"{2001}", "more than 2000 repetitions"},
      {"root ::= (\"a\"{0,1000}){1000}", "multiply to more than 2000"},
      {"root ::= a\na ::= gone", "line 2, column 7: undefined rule \"gone\""},
      {"root ::= <[99999999999]>", "expecting the number of a token"},
      {"root ::= <tool>", "invalid token"},
      {"root ::= \"a\" )", "expecting the end of the line"},
      {"root ::= \"\xFF\"", "no UTF-8 text"},
  };
  for (const auto& [grammar, reason] : cases) {
    const Status checked = check(grammar);
    ASSERT_FALSE(checked.ok()) << grammar;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidOption) << grammar;
    EXPECT_THAT(checked.error().message, HasSubstr(reason)) << grammar;
  }
}

TEST(Gbnf, WhatWouldTakeTheWholeMemoryOrStackIsRefused) {
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 20'000; ++i) chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  chain += "r20000 ::= \"a\"";
  for (const std::string& grammar :
       {"root ::= " + std::string(100'000, '(') + "\"a\"" + std::string(100'000, ')'),
        "root ::= \"" + std::string(10'000, 'a') + "\"{2000}", std::string("root ::= \"a\"{3,2}"), chain,
        "root ::= \"" + std::string(2U << 20U, 'a') + "\""}) {
    const Status checked = check(grammar);
    ASSERT_FALSE(checked.ok()) << grammar.substr(0, 60);
    EXPECT_EQ(checked.error().code, ErrorCode::kLimit) << checked.error().message;
  }
}

TEST(Gbnf, JudgesChangedGrammarsAsLlamaCppDoes) {
  const std::string pieces = "\"'[]()<>{}|*+?.^-\\:=!#\n\r\t ,0123axu";
  RandomStream random(7, "tests/gbnf");
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
  int passed = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = good_grammars()[below(good_grammars().size())];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size());
      if (below(2) == 0) {
        text.insert(at, 1, pieces[below(pieces.size())]);
      } else {
        text.erase(at, 1);
      }
    }
    const Status checked = check(text);
    // What only we refuse may not be asked: it loops or takes all memory.
    if (!checked &&
        (checked.error().code == ErrorCode::kLimit || checked.error().message.find("UTF-8") != std::string::npos))
      continue;
    const Verdict theirs = ask_llama(text);
    // A rule that nothing uses because it is repeated 0 times need not exist for llama.cpp.
    const bool unused = !checked && checked.error().message.find("undefined rule") != std::string::npos;
    EXPECT_TRUE(unused || checked.ok() == theirs.parsed) << text << "\n" << (checked ? "" : checked.error().message);
    EXPECT_TRUE(!checked || theirs.printed.empty()) << text << "\n" << theirs.printed;
    ++(checked ? passed : refused);
  }
  EXPECT_GT(passed, 300);
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace casemate::llm
