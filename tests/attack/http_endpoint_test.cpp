// What is sent to a system under test, and what its replies count as. Whole runs: tests/apps/redteam_test.py.
#include <gtest/gtest.h>

#include "casemate/attack/rag_endpoint.h"
#include "net/scripted_server.h"

namespace casemate {
namespace {

using End = EndpointRemoval::End;
using test::http_reply;
using test::ScriptedReply;
using test::ScriptedServer;

const std::string kOwnIds =
    "add: {path: /d, body: '{\"t\": \"{{text}}\"}', id: /id}\n"
    "delete: {path: '/d/{{id}}'}\n"
    "ask: {path: /q, body: '{\"q\": \"{{question}}\"}', answer: /a}\n"
    "max_retries: 2\n";

EndpointAdapter adapter_of(const std::string& text) {
  const auto root = YamlValue::parse(text, "a.yaml");
  EXPECT_TRUE(root.ok());
  auto adapter = read_endpoint_adapter(*root, [](const std::string&) { return std::optional<std::string>("k1"); });
  EXPECT_TRUE(adapter.ok()) << adapter.error().message;
  return *std::move(adapter);
}

std::unique_ptr<RagEndpoint> endpoint_of(const std::string& url, const std::string& text) {
  auto endpoint = connect_endpoint(url, adapter_of(text));
  EXPECT_TRUE(endpoint.ok());
  return *std::move(endpoint);
}

/// Each reply to one connection; an empty one closes it.
std::vector<ScriptedReply> replies(const std::vector<std::string>& texts) {
  std::vector<ScriptedReply> out;
  for (const std::string& text : texts) out.push_back({{text}});
  return out;
}

TEST(HttpEndpoint, AnAdditionThatMayHaveHappenedIsNotSentAgainWhereTheSystemGivesIds) {
  for (const std::string& unclear : {http_reply(502, ""), http_reply(504, "", "Retry-After: 0\r\n"),
                                     http_reply(408, ""), http_reply(503, ""), std::string()}) {
    const ScriptedServer server(replies({unclear, http_reply(200, R"({"id": "7"})")}));
    const auto added = endpoint_of(server.url(), kOwnIds)->add("ours", UntrustedText(), UntrustedText("x"), {});
    ASSERT_FALSE(added.ok()) << unclear;
    EXPECT_NE(added.error().message.find("not known"), std::string::npos) << added.error().message;
    EXPECT_EQ(server.requests().size(), 1U);
  }
}

TEST(HttpEndpoint, AnAdditionThatWasTurnedAwayIsSentAgain) {
  const std::string now = "Retry-After: 0\r\n";
  const ScriptedServer server(
      replies({http_reply(429, "", now), http_reply(503, "", now), http_reply(200, R"({"id": "7"})")}));
  const auto added = endpoint_of(server.url(), kOwnIds)->add("ours", UntrustedText(), UntrustedText("x"), {});
  ASSERT_TRUE(added.ok()) << added.error().message;
  EXPECT_EQ(added->id, "7");
  EXPECT_EQ(server.requests().size(), 3U);
}

TEST(HttpEndpoint, A404IsARemovalOnlyAfterALostReply) {
  const auto end_of = [](const std::vector<std::string>& texts) {
    const ScriptedServer server(replies(texts));
    return endpoint_of(server.url(), kOwnIds)->remove("7", {});
  };
  const EndpointRemoval wrong = end_of({http_reply(404, "")});
  EXPECT_EQ(wrong.end, End::kNotThere);
  EXPECT_NE(wrong.error.message.find("delete (DELETE "), std::string::npos) << wrong.error.message;
  EXPECT_EQ(end_of({http_reply(410, "")}).end, End::kNotThere);
  EXPECT_EQ(end_of({http_reply(204, "")}).end, End::kRemoved);
  EXPECT_EQ(end_of({"", http_reply(404, "")}).end, End::kRemoved);
  EXPECT_EQ(end_of({http_reply(429, "", "Retry-After: 0\r\n"), http_reply(404, "")}).end, End::kNotThere);
  EXPECT_EQ(end_of({http_reply(405, "")}).end, End::kFailed);
  EXPECT_EQ(end_of({http_reply(504, "", "Retry-After: 0\r\n")}).end, End::kUnknown);
}

TEST(HttpEndpoint, ARemovalThatNeverWentOutDidNothing) {
  std::string url;
  {
    const ScriptedServer gone(replies({""}));
    url = gone.url();
  }
  EXPECT_EQ(endpoint_of(url, kOwnIds + "retry_limit_ms: 0\n")->remove("7", {}).end, End::kFailed);
}

TEST(HttpEndpoint, JobsEndAsTheSystemSays) {
  const std::string adapter =
      "add: {path: /d, body: '{\"t\": \"{{text}}\"}', job: /job}\n"
      "job: {path: '/j/{{job}}', state: /state}\n" +
      kOwnIds.substr(kOwnIds.find("delete"));
  const auto state = [](const char* what) { return http_reply(200, std::string(R"({"state": ")") + what + "\"}"); };
  const ScriptedServer server(replies(
      {http_reply(202, R"({"job": 5})"), state("queued"), state("done"), state("failed"), http_reply(404, "")}));
  const auto endpoint = endpoint_of(server.url(), adapter);
  const auto added = endpoint->add("ours", UntrustedText(), UntrustedText("x"), {});
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->id, "ours");
  EXPECT_EQ(added->job, "5");
  const auto done = endpoint->wait_for("5", {});
  ASSERT_TRUE(done.ok());
  EXPECT_TRUE(*done);
  const auto failed = endpoint->wait_for("5", {});
  ASSERT_TRUE(failed.ok());
  EXPECT_FALSE(*failed);
  const auto unknown = endpoint->wait_for("5", {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

TEST(HttpEndpoint, TheIdentityIsThatOfWhatAnswersDependOn) {
  const std::string url = "http://127.0.0.1:9";
  const auto identity = [&url](const EndpointAdapter& adapter) {
    return (*connect_endpoint(url, adapter))->identity();
  };
  const std::string headers = "headers: {X-Key: '${KEY}'}\n";
  const EndpointAdapter begun = adapter_of(headers + kOwnIds);
  EndpointAdapter other = begun;
  other.ask.body = R"({"question": "{{question}}"})";
  EXPECT_NE(identity(other), identity(begun));
  other = begun;
  other.answer = "/b";
  EXPECT_NE(identity(other), identity(begun));
  other = begun;
  other.headers[0].second = other.secrets[0].second = "k2";
  other.max_retries = 7;
  other.remove->path = "/documents/{{id}}";
  EXPECT_EQ(identity(other), identity(begun));
  other.headers[0].second += "?";
  EXPECT_NE(identity(other), identity(begun));
}

}  // namespace
}  // namespace casemate
