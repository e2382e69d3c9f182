#include "casemate/core/yaml_options.h"

#include <gtest/gtest.h>

#include <limits>

namespace casemate {
namespace {

struct Options {
  int top_k = 5;
  float max_cosine = 0.5F;
  bool strict = false;
  std::string name = "none";
  std::uint64_t bytes = 7;
  std::vector<std::string> stages;
};

Result<Options> fill(std::string_view text) {
  auto value = YamlValue::parse(text, "policy.yaml");
  if (!value) return value.error();
  Options out;
  YamlOptions options(*value);
  options.read("top_k", out.top_k, 1, 1000).read("max_cosine", out.max_cosine, 0.0F, 1.0F);
  options.read("strict", out.strict).read("name", out.name).read("stages", out.stages);
  options.read("bytes", out.bytes, 1, std::numeric_limits<std::uint64_t>::max());
  if (Status read = options.finish(); !read) return read.error();
  return out;
}

std::string problem(std::string_view text) {
  const auto options = fill(text);
  return options.ok() ? "(none)" : options.error().message;
}

TEST(YamlOptions, FieldsAreFilledAndTheOthersKeepTheirDefaults) {
  const auto options = fill("max_cosine: 0.25\nstrict: true\nstages: [a, b]\nname: ~\nbytes: 18446744073709551615\n");
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->top_k, 5);
  EXPECT_FLOAT_EQ(options->max_cosine, 0.25F);
  EXPECT_TRUE(options->strict);
  EXPECT_EQ(options->stages, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options->name, "none");
  EXPECT_EQ(options->bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(fill("")->top_k, 5);
}

TEST(YamlOptions, AnUnknownKeyIsRefusedWithTheNearestOne) {
  EXPECT_EQ(problem("name: x\ntopk: 3\n"), "policy.yaml:2: topk: unknown key \"topk\" (did you mean \"top_k\"?)");
  EXPECT_EQ(fill("topk: 3").error().code, ErrorCode::kInvalidOption);
}

TEST(YamlOptions, ErrorsNameFileLineFieldAndRange) {
  EXPECT_EQ(problem("name: x\ntop_k: 0\n"), "policy.yaml:2: top_k: must be an integer in 1 to 1000, not 0");
  EXPECT_EQ(problem("top_k: many"), "policy.yaml:1: top_k: must be an integer in 1 to 1000, not \"many\"");
  EXPECT_EQ(problem("top_k: 3.5"), "policy.yaml:1: top_k: must be an integer in 1 to 1000, not \"3.5\"");
  EXPECT_EQ(problem("max_cosine: nan"), "policy.yaml:1: max_cosine: must be a number in 0 to 1, not \"nan\"");
  EXPECT_EQ(problem("strict: yes"), "policy.yaml:1: strict: must be true or false, not \"yes\"");
  EXPECT_EQ(problem("stages: [a, [b]]"), "policy.yaml:1: stages[1]: must be a text");
  EXPECT_EQ(problem("- a"), "policy.yaml:1: must be a map of fields");
  EXPECT_EQ(problem("top_k: 2\ntop_k: 3"), "policy.yaml:1: key \"top_k\" stands here twice");
}

TEST(YamlOptions, BrokenYamlIsAnErrorWithItsLine) {
  EXPECT_EQ(problem("a: 1\nb: [1, 2\n").substr(0, 14), "policy.yaml:3:");
  EXPECT_EQ(fill(std::string(100'000, '[')).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(fill("a: 1\n---\nb: 2\n").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(fill(std::string(17'000'000, ' ')).error().code, ErrorCode::kLimit);
  EXPECT_FALSE(fill("a: &a [*a]").ok());
  EXPECT_FALSE(fill(std::string_view("\0\xff\xfe", 3)).ok());
}

TEST(YamlOptions, ARequiredFieldThatIsAbsentIsNamed) {
  const auto value = YamlValue::parse("outer: {a: 1}", "f.yaml");
  YamlOptions options(*value->find("outer"));
  int a = 0;
  std::string b;
  options.read("a", a, 0, 9).required().read("b", b).required();
  EXPECT_EQ(options.finish().error().message, "f.yaml:1: outer: \"b\" is missing");
}

}  // namespace
}  // namespace casemate
