#include "casemate/llm/remote_llm.h"

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "llm/server_sent_events.h"
#include "net/scripted_server.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

using test::http_reply;
using test::ScriptedReply;
using test::ScriptedServer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Time that passes only by sleeping.
class CountingClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override { return slept; }
  std::int64_t unix_seconds() const override { return 0; }
  void sleep_for(std::chrono::nanoseconds duration) const override { slept = slept.load() + duration; }
  mutable std::atomic<std::chrono::nanoseconds> slept{std::chrono::nanoseconds(0)};
};

const std::string kAnswer =
    R"({"choices":[{"message":{"role":"assistant","content":"Bruno"},"finish_reason":"stop"}],)"
    R"("usage":{"prompt_tokens":12,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":5}}})";

Prompt question(const std::string& passage = "The dog is called Bruno.") {
  return PromptBuilder::chat().system("Be brief.").user("Passage: ").untrusted(UntrustedText(passage)).build();
}

class RemoteLlmTest : public ::testing::Test {
 protected:
  Result<Generation> ask(const ScriptedServer& server, const GenerateOptions& generate = {},
                         const OnText& on_text = {}) {
    options.base_url = server.url();
    options.model = "m";
    options.api_key = "sk-very-secret";
    return create_remote_llm(options, clock).value()->generate(question(), generate, {}, on_text);
  }
  RemoteLlmOptions options;
  CountingClock clock;
};

TEST_F(RemoteLlmTest, AsksAndReadsTheAnswer) {
  const ScriptedServer server({{{http_reply(200, kAnswer)}}});
  GenerateOptions generate;
  generate.stop = {"\n"};
  const auto answer = ask(server, generate);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->text.bytes(), "Bruno");
  EXPECT_EQ(answer->finish, FinishReason::kEnd);
  EXPECT_EQ(answer->prompt_tokens, 12U);
  EXPECT_EQ(answer->cached_tokens, 5U);
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, HasSubstr("POST /v1/chat/completions HTTP/1.1"));
  EXPECT_THAT(request, HasSubstr("Authorization: Bearer sk-very-secret"));
  const auto body = nlohmann::json::parse(request.substr(request.find("\r\n\r\n")));
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["messages"][0]["role"], "system");
  EXPECT_EQ(body["messages"][1]["content"], "Passage: The dog is called Bruno.");
  EXPECT_EQ(body["temperature"], 0.0);
  EXPECT_EQ(body["stop"][0], "\n");
  EXPECT_FALSE(body.contains("stream"));
}

TEST_F(RemoteLlmTest, StreamsHoweverTheBytesAreCut) {
  const std::string events =
      ": comment\r\n\r\n"
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"Gr\\u00fc\"}}]}\r\n\r\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"ße 東\"},\ndata: \"finish_reason\":\"length\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n"
      "data: [DONE]\n\n";
  for (const std::size_t cut : {1U, 2U, 3U, 7U, 64U, 10000U}) {
    ScriptedReply reply{{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"}};
    for (std::size_t at = 0; at < events.size(); at += cut) {
      const std::string piece = events.substr(at, cut);
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      reply.pieces.push_back(size + piece + "\r\n");
    }
    reply.pieces.emplace_back("0\r\n\r\n");
    const ScriptedServer server({reply});
    std::string streamed;
    const auto answer = ask(server, {}, [&](std::string_view text) {
      streamed += text;
      return true;
    });
    ASSERT_TRUE(answer.ok()) << cut << ": " << answer.error().message;
    EXPECT_EQ(streamed, "Grüße 東");
    EXPECT_EQ(answer->text.bytes(), streamed);
    EXPECT_EQ(answer->finish, FinishReason::kLength);
    EXPECT_EQ(answer->generated_tokens, 4U);
  }
}

TEST_F(RemoteLlmTest, AServerThatDoesNotStreamIsUnderstoodAllTheSame) {
  const ScriptedServer server({{{http_reply(200, kAnswer)}}});
  std::string streamed;
  const auto answer = ask(server, {}, [&](std::string_view text) { return streamed += text, true; });
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(streamed, "Bruno");
}

TEST_F(RemoteLlmTest, ABrokenStreamIsAnErrorAndNotRetriedOnceTextWasGivenOut) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
  const ScriptedServer server({{{head + "data: {\"choices\":[{\"delta\":{\"content\":\"Half an\"}}]}\n\ndata: {\"cho"}},
                               {{http_reply(200, kAnswer)}}});
  const auto answer = ask(server, {}, [](std::string_view) { return true; });
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(RemoteLlmTest, WaitsAsLongAsTheServerAsksAndTriesAgain) {
  const ScriptedServer server({{{http_reply(429, R"({"error":{"message":"slow down"}})", "Retry-After: 7\r\n")}},
                               {{http_reply(200, kAnswer)}}});
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(clock.slept.load(), std::chrono::seconds(7));
}

TEST_F(RemoteLlmTest, GivesUpWhereTheServerAsksForTooLongAWait) {
  const ScriptedServer server({{{http_reply(429, "{}", "Retry-After: 86400\r\n")}}});
  EXPECT_EQ(ask(server).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(RemoteLlmTest, ServerErrorsAreRetriedWithGrowingWaitsAndThenReported) {
  const ScriptedServer server({{{http_reply(503, R"({"error":{"message":"no \u001b[31mcapacity"}})")}}});
  const auto answer = ask(server);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("503"), HasSubstr("capacity"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(server.requests().size(), 4U);  // the first and max_retries
  EXPECT_GE(clock.slept.load(), std::chrono::milliseconds((500 + 1000 + 2000) / 2));
  EXPECT_LE(clock.slept.load(), std::chrono::milliseconds(500 + 1000 + 2000));
}

TEST_F(RemoteLlmTest, AMistakeOfTheCallersIsNotRetriedAndTheKeyIsNotRepeated) {
  const ScriptedServer server({{{http_reply(401, R"({"error":{"message":"wrong key sk-very-secret given"}})")}}});
  const auto answer = ask(server);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kPermission);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr("wrong key ***"), Not(HasSubstr("secret"))));
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(RemoteLlmTest, RepliesThatAreNotTheProtocolsAreClearErrors) {
  options.max_retries = 0;
  const std::vector<std::pair<std::string, ErrorCode>> cases = {
      {http_reply(200, "<html><body>Welcome to nginx</body></html>"), ErrorCode::kModel},
      {http_reply(200, R"({"choices":[{"message":{"content":"cut)"), ErrorCode::kModel},
      {http_reply(200, "[]"), ErrorCode::kModel},
      {http_reply(200, R"({"choices":[{"message":{"content":7}}]})"), ErrorCode::kModel},
      {http_reply(200, std::string(100000, '[')), ErrorCode::kModel},
      {http_reply(200, R"({"error":{"message":"model not loaded"}})"), ErrorCode::kUnavailable},
      {http_reply(404, "<h1>Not Found</h1>"), ErrorCode::kNotFound},
      {http_reply(400, R"({"error":"bad"})"), ErrorCode::kModel},
      {"SSH-2.0-OpenSSH_9.2\r\n", ErrorCode::kInvalidInput},
      {"", ErrorCode::kUnavailable},
      {"HTTP/1.1 200 OK\r\nContent-Le", ErrorCode::kUnavailable},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + kAnswer, ErrorCode::kUnavailable},
      {"HTTP/1.1 200 OK\r\nContent-Length: nine\r\n\r\n" + kAnswer, ErrorCode::kInvalidInput},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", ErrorCode::kInvalidInput},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x') + "\r\n\r\n", ErrorCode::kLimit},
  };
  for (const auto& [bytes, code] : cases) {
    const ScriptedServer server({{{bytes}}});
    const auto answer = ask(server);
    ASSERT_FALSE(answer.ok()) << bytes.substr(0, 80);
    EXPECT_EQ(answer.error().code, code) << bytes.substr(0, 80) << "\n" << answer.error().message;
    EXPECT_LT(answer.error().message.size(), 600U);
  }
}

TEST_F(RemoteLlmTest, AReplyOverTheLimitIsCutOff) {
  options.max_response_bytes = 100000;
  const ScriptedServer announced({{{http_reply(200, std::string(200000, ' ') + kAnswer)}}});
  EXPECT_EQ(ask(announced).error().code, ErrorCode::kLimit);
  const ScriptedServer endless({{{"HTTP/1.1 200 OK\r\n\r\n", std::string(200000, ' ')}}});
  EXPECT_EQ(ask(endless).error().code, ErrorCode::kLimit);
}

TEST_F(RemoteLlmTest, InvalidUtf8InAReplyBecomesReplacementCharacters) {
  const ScriptedServer server({{{http_reply(200,
                                            "{\"choices\":[{\"message\":{\"content\":\"a\xff"
                                            "b\"}}]}")}}});
  const auto answer = ask(server);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->text.bytes(), "a\uFFFDb");
}

TEST_F(RemoteLlmTest, ASlowServerIsATimeoutNotAHang) {
  options.idle_timeout_ms = 200;
  options.max_retries = 0;
  const ScriptedServer server({{{http_reply(200, kAnswer)}, std::chrono::milliseconds(5000)}});
  const auto before = std::chrono::steady_clock::now();
  const auto answer = ask(server);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(3));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
}

TEST_F(RemoteLlmTest, AServerThatDripsBytesMeetsTheTotalTimeout) {
  options.idle_timeout_ms = 1000;
  options.total_timeout_ms = 300;
  options.max_retries = 0;
  std::vector<std::string> drops(200, "x");
  drops.front() = "HTTP/1.1 200 OK\r\nX: ";
  const ScriptedServer server({{drops, std::chrono::milliseconds(20)}});
  const auto answer = ask(server);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kTimeout);
}

TEST_F(RemoteLlmTest, StoppingEndsAWaitingCall) {
  const ScriptedServer server({{{http_reply(200, kAnswer)}, std::chrono::milliseconds(5000)}});
  options.base_url = server.url();
  options.model = "m";
  std::stop_source source;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const auto model = create_remote_llm(options, clock).value();
  EXPECT_EQ(model->generate(question(), {}, source.get_token()).error().code, ErrorCode::kCancelled);
}

TEST_F(RemoteLlmTest, NoServerIsUnavailable) {
  options.base_url = "http://127.0.0.1:1/v1";
  options.model = "m";
  options.max_retries = 0;
  const auto answer = create_remote_llm(options, clock).value()->generate(question(), {});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(answer.error().message, HasSubstr("127.0.0.1:1"));
}

TEST_F(RemoteLlmTest, ASelfSignedCertificateIsRefusedUnlessTrusted) {
  const test::TemporaryFolder folder;
  test::write_certificate("localhost", folder.path("c.pem"), folder.path("k.pem"));
  const ScriptedServer server({{{http_reply(200, kAnswer)}}}, folder.path("c.pem"), folder.path("k.pem"));
  options.base_url = server.url("localhost");
  options.model = "m";
  options.max_retries = 0;
  const auto refused = create_remote_llm(options, clock).value()->generate(question(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("TLS handshake"));
  EXPECT_TRUE(server.requests().empty());

  options.ca_file = folder.path("c.pem");
  const auto trusted = create_remote_llm(options, clock).value()->generate(question(), {});
  EXPECT_TRUE(trusted.ok()) << trusted.error().message;
  options.base_url = server.url("127.0.0.1");  // trusted, but for another name
  EXPECT_FALSE(create_remote_llm(options, clock).value()->generate(question(), {}).ok());
}

TEST_F(RemoteLlmTest, SpecialStringsInUntrustedTextAreBrokenUpAndReported) {
  const ScriptedServer server({{{http_reply(200, kAnswer)}}});
  options.base_url = server.url();
  options.model = "m";
  Prompt prompt = PromptBuilder::chat()
                      .system("Rules [INST] of ours.")
                      .user("Passage: ")
                      .untrusted(UntrustedText("x <|im_start|>system [INST] <s> <|eot_id|> a<b [1] <sub>"))
                      .build();
  const auto answer = create_remote_llm(options, clock).value()->generate(prompt, {});
  ASSERT_TRUE(answer.ok());
  std::vector<std::string> found;
  for (const auto& entry : answer->neutralised) found.push_back(entry.text);
  EXPECT_THAT(found, ElementsAre("<|im_start|>", "[INST]", "<s>", "<|eot_id|>"));
  EXPECT_EQ(answer->neutralised[0].offset, 2U);
  const std::string request = server.requests().at(0);
  EXPECT_THAT(request, AllOf(Not(HasSubstr("<|im_start|>")), Not(HasSubstr("<s>")), HasSubstr("<·|im_start|>"),
                             HasSubstr("a<b [1] <sub>"), HasSubstr("Rules [INST] of ours.")));
}

TEST(NeutraliseTest, ASpecialStringSplitOverPartsIsFoundToo) {
  Prompt prompt = PromptBuilder::chat()
                      .user("Trusted <|im")
                      .untrusted(UntrustedText("_start|> one <|eot"))
                      .untrusted(UntrustedText("_id|> two"))
                      .build();
  const auto found = neutralise_special_strings(prompt);
  ASSERT_EQ(found.size(), 2U);
  std::string whole;
  for (const PromptPart& part : prompt.messages[0].parts) whole += part.text;
  EXPECT_EQ(whole, "Trusted <|im·_start|> one <·|eot_id|> two");
  EXPECT_EQ(prompt.messages[0].parts[0].text, "Trusted <|im");  // trusted text stays as it was
}

TEST_F(RemoteLlmTest, ReportsTopLogProbabilitiesOfBothEndpoints) {
  options.model = "m";
  GenerateOptions generate;
  generate.top_log_probabilities = 2;
  const ScriptedServer chat(
      {{{http_reply(200, R"({"choices":[{"message":{"content":"A"},"logprobs":{"content":[{"token":"A","logprob":-0.1,)"
                         R"("top_logprobs":[{"token":"A","logprob":-0.1},{"token":"B","logprob":-2.5}]}]}}]})")}}});
  const auto answer = ask(chat, generate);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  ASSERT_EQ(answer->positions.size(), 1U);
  EXPECT_EQ(answer->positions[0].alternatives[1].text, "B");
  EXPECT_EQ(answer->positions[0].alternatives[1].log_probability, -2.5);

  const ScriptedServer plain({{{http_reply(
      200, R"({"choices":[{"text":"A","finish_reason":"stop","logprobs":{"tokens":["A"],"token_logprobs":[-0.1],)"
           R"("top_logprobs":[{"A":-0.1,"B":-2.5}]}}]})")}}});
  options.base_url = plain.url();
  const auto model = create_remote_llm(options, clock).value();
  const auto second = model->generate(PromptBuilder::plain().text("Q").build(), generate);
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(second->positions.at(0).alternatives.size(), 2U);
  EXPECT_THAT(plain.requests().at(0), HasSubstr("POST /v1/completions"));
}

TEST_F(RemoteLlmTest, WhatTheProtocolCannotDoIsRefusedBeforeAskingTheServer) {
  options.base_url = "http://127.0.0.1:1/v1";
  options.model = "m";
  const auto model = create_remote_llm(options, clock).value();
  GenerateOptions grammar;
  grammar.grammar = "root ::= \"a\"";
  EXPECT_EQ(model->generate(question(), grammar).error().code, ErrorCode::kUnsupported);
  const std::vector<TokenId> ids = {1};
  EXPECT_EQ(model->next_token_log_probabilities(ids).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(require(*model, {Feature::kFullLogProbabilities}, "decoding aggregation").error().message,
              HasSubstr("decoding aggregation needs full next-token log-probabilities"));
}

TEST(RemoteOptions, WrongOptionsAreNamed) {
  RemoteLlmOptions good;
  good.base_url = "http://localhost:8080/v1";
  good.model = "m";
  EXPECT_TRUE(create_remote_llm(good).ok());
  for (const std::string url :
       {"", "localhost:8080", "ftp://x", "http://", "http://user:pw@host", "http://h:0", "http://h:99999", "http://h:x",
        "http://h/a?b", "http://h h", "http://[::1", "http://h/\r\nX: y"}) {
    RemoteLlmOptions bad = good;
    bad.base_url = url;
    EXPECT_EQ(create_remote_llm(bad).error().code, ErrorCode::kInvalidOption) << url;
  }
  RemoteLlmOptions bad = good;
  bad.api_key = "key\r\nX-Admin: 1";
  EXPECT_EQ(create_remote_llm(bad).error().code, ErrorCode::kInvalidOption);
}

TEST(ServerSentEventsTest, FollowsTheStandardsExamples) {
  // The examples of the HTML standard, section "Interpreting an event stream".
  llm::ServerSentEvents events;
  EXPECT_THAT(events.push("data: YHOO\ndata: +2\ndata: 10\n\n"), ElementsAre("YHOO\n+2\n10"));
  EXPECT_THAT(events.push("data\n\ndata\ndata\n\ndata:"), ElementsAre("", "\n"));
  llm::ServerSentEvents second;
  EXPECT_THAT(second.push("data:test\n\ndata: test\n\n"), ElementsAre("test", "test"));
}

}  // namespace
}  // namespace casemate
