#include "attack/request_template.h"

#include <gtest/gtest.h>

#include "casemate/attack/rag_endpoint.h"

namespace casemate {
namespace {

using nlohmann::json;

TEST(RequestTemplate, ValuesAreOneSegmentOfAPath) {
  EXPECT_EQ(fill_path("/docs/{{id}}/x", {{"id", "a/b ?#%"}}), "/docs/a%2Fb%20%3F%23%25/x");
  EXPECT_EQ(fill_path("/docs/{{id}}", {{"id", ".."}}), "/docs/%2E%2E");
  EXPECT_EQ(fill_path("/docs/{{id}}", {{"id", "\xC3\xA9\r\n"}}), "/docs/%C3%A9%0D%0A");
  EXPECT_EQ(fill_path("/{{other}}/{{id", {{"id", "a"}}), "/{{other}}/{{id");
}

TEST(RequestTemplate, ValuesAreEscapedInBodiesAndNotLookedAtAgain) {
  const std::string body = R"({"a": "<{{text}}>", "b": [{"c": "{{id}}{{id}}"}], "{{id}}": 1, "d": null})";
  const auto filled = json::parse(fill_body(body, {{"text", "\"}], {{id}} \\ \n"}, {"id", "7"}}));
  EXPECT_EQ(filled.at("a"), "<\"}], {{id}} \\ \n>");
  EXPECT_EQ(filled.at("b")[0].at("c"), "77");
  EXPECT_EQ(filled.at("{{id}}"), 1);
  // Broken UTF-8 cannot make a body that is no JSON.
  EXPECT_TRUE(json::accept(fill_body(body, {{"text", "\xFF\xC3"}, {"id", ""}})));
}

TEST(RequestTemplate, PointersFollowRfc6901AndStarsStandForElements) {
  const json document =
      json::parse(R"({"a/b": {"~": 1}, "hits": [{"id": "x"}, {"no": 0}, {"id": "y"}], "*": 5, "": 6})");
  const auto at = [&document](const char* pointer) {
    json out = json::array();
    for (const json* each : at_json_path(document, pointer)) out.push_back(*each);
    return out;
  };
  EXPECT_EQ(at("/a~1b/~0"), json({1}));
  EXPECT_EQ(at("/hits/*/id"), json({"x", "y"}));
  EXPECT_EQ(at("/hits/2/id"), json({"y"}));
  EXPECT_EQ(at("/hits/3/id"), json::array());
  EXPECT_EQ(at("/hits/-1"), json::array());
  EXPECT_EQ(at("/*"), json({5}));
  EXPECT_EQ(at("/"), json({6}));
  EXPECT_EQ(at("")[0], document);
  for (const char* wrong : {"a", "/a~", "/~2"}) EXPECT_FALSE(is_json_path(wrong)) << wrong;
}

Result<EndpointAdapter> read(const std::string& text) {
  const auto root = YamlValue::parse(text, "a.yaml");
  if (!root) return root.error();
  return read_endpoint_adapter(
      *root, [](const std::string& name) { return name == "KEY" ? std::optional<std::string>("k1") : std::nullopt; });
}

const std::string kWhole =
    "headers: {X-Key: 'a ${KEY} b'}\n"
    "add: {path: /d, body: '{\"t\": \"{{text}}\"}'}\n"
    "delete: {path: '/d/{{id}}'}\n"
    "ask: {path: '/q?s={{question}}', method: GET, answer: /a}\n";

TEST(EndpointAdapter, VariablesAreFilledInAndDefaultsHold) {
  const auto adapter = read(kWhole);
  ASSERT_TRUE(adapter.ok()) << adapter.error().message;
  EXPECT_EQ(adapter->headers[0].second, "a k1 b");
  EXPECT_EQ(adapter->add.method, "POST");
  EXPECT_EQ(adapter->remove->method, "DELETE");
  EXPECT_EQ(adapter->ask.method, "GET");
  EXPECT_FALSE(adapter->retrieve);
}

TEST(EndpointAdapter, EachMistakeIsNamedWithItsPlace) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string text = kWhole;
    text.replace(text.find(from), from.size(), to);
    const auto adapter = read(text);
    EXPECT_FALSE(adapter.ok()) << text;
    return adapter.ok() ? std::string() : adapter.error().message;
  };
  EXPECT_NE(refused("KEY", "NONE").find("NONE is not set"), std::string::npos);
  EXPECT_NE(refused("X-Key", "'X Key'").find("a.yaml:1"), std::string::npos);
  EXPECT_NE(refused("{{text}}", "{{question}}").find("cannot stand here"), std::string::npos);
  EXPECT_NE(refused("\"t\"", "\"{{text}}\"").find("{{text}} cannot stand in a key"), std::string::npos);
  EXPECT_NE(refused("{{question}}", "x").find("uses {{question}} nowhere"), std::string::npos);
  EXPECT_NE(refused("path: /d,", "path: d,").find("begin with /"), std::string::npos);
  EXPECT_NE(refused("GET", "TRACE").find("method must be"), std::string::npos);
  EXPECT_NE(refused("answer: /a", "answer: a").find("JSON pointer"), std::string::npos);
  EXPECT_NE(refused("delete", "delte").find("did you mean \"delete\""), std::string::npos);
  EXPECT_NE(refused("delete: {path: '/d/{{id}}'}\n", "").find("give delete"), std::string::npos);
  EXPECT_NE(refused("add: {", "add: {job: /id, ").find("belong together"), std::string::npos);
}

}  // namespace
}  // namespace casemate
