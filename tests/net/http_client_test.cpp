// What the client sends and makes of replies. More of it: tests/llm/remote_llm_test.cpp (replies that are none, limits,
// TLS) and tests/models/pull_hub_test.cpp (redirects, ranges, certificates).
#include "net/http_client.h"

#include <gtest/gtest.h>

#include "net/scripted_server.h"

namespace casemate {
namespace {

using test::http_reply;
using test::ScriptedServer;

HttpRequest request_to(const ScriptedServer& server) {
  HttpRequest request;
  request.url = parse_url(server.url()).value();
  return request;
}

TEST(HttpClient, SendsWhatItIsGivenAndNamesTheHostAsTheAddressDoes) {
  const ScriptedServer server({{{http_reply(201, "made", "Retry-After: 7\r\nLocation: /x\r\n")}}});
  HttpRequest request = request_to(server);
  request.url.target = "/a/b?c=d";
  request.method = "PUT";
  request.headers = {{"X-One", "1"}};
  request.body = "body";
  const auto reply = send_http(request, {}, {});
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->head.status, 201);
  EXPECT_EQ(reply->head.retry_after, "7");
  EXPECT_EQ(reply->head.location, "/x");
  EXPECT_EQ(reply->head.content_length, 4U);
  EXPECT_EQ(reply->body, "made");
  const std::string sent = server.requests().at(0);
  EXPECT_EQ(sent.substr(0, sent.find('\r')), "PUT /a/b?c=d HTTP/1.1");
  for (const std::string& line :
       {"Host: " + request.url.authority(), std::string("X-One: 1"), std::string("Content-Length: 4")})
    EXPECT_NE(sent.find("\r\n" + line + "\r\n"), std::string::npos) << line << "\n" << sent;
}

TEST(HttpClient, OnBodyGetsOnlyWhatWasAskedForAndMayEndIt) {
  const ScriptedServer refusing({{{http_reply(503, "busy")}}});
  std::string taken;
  const OnBody take = [&taken](std::string_view bytes) {
    taken += bytes;
    return false;
  };
  const auto refused = send_http(request_to(refusing), {}, {}, take);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->body, "busy");
  EXPECT_EQ(taken, "");
  // It would never end by itself.
  const ScriptedServer endless(
      {{{"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst", "second"}, std::chrono::milliseconds(200)}});
  EXPECT_TRUE(send_http(request_to(endless), {}, {}, take).ok());
  EXPECT_EQ(taken, "first");
}

TEST(HttpClient, ARequestCountsAsSentOnceTheServerMayHaveSeenIt) {
  bool was_sent = false;
  HttpOptions options;
  options.was_sent = &was_sent;
  HttpRequest nowhere;
  nowhere.url = parse_url("http://127.0.0.1:1/").value();
  EXPECT_EQ(send_http(nowhere, options, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(was_sent);
  const ScriptedServer closing({{{""}}});
  EXPECT_EQ(send_http(request_to(closing), options, {}).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(was_sent);
}

TEST(HttpClient, AStopBeforeItBeginsConnectsNowhere) {
  const ScriptedServer server({{{http_reply(200, "")}}});
  std::stop_source stop;
  stop.request_stop();
  HttpRequest request = request_to(server);
  EXPECT_EQ(send_http(request, {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  request.url.host = "no-such-host.invalid";
  EXPECT_EQ(send_http(request, {}, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpClient, AHeaderThatIsTooLongIsAnErrorAndNoException) {
  const ScriptedServer server({{{http_reply(200, "")}}});
  HttpRequest request = request_to(server);
  request.headers = {{"X", std::string(70'000, 'x')}};
  const auto reply = send_http(request, {}, {});
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace casemate
