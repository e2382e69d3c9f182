#include "net/url.h"

#include <gtest/gtest.h>

namespace casemate {
namespace {

TEST(Url, PartsAreCutOut) {
  const auto url = parse_https_url("https://hub.example:8443/a/b?c=d#e");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ(url->host, "hub.example");
  EXPECT_EQ(url->port, "8443");
  EXPECT_EQ(url->target, "/a/b?c=d");
  EXPECT_EQ(url->authority(), "hub.example:8443");
  EXPECT_EQ(parse_https_url("https://hub.example")->target, "/");
  EXPECT_EQ(parse_https_url("https://hub.example?q")->target, "/?q");
  EXPECT_EQ(parse_https_url("https://[::1]:1/x")->authority(), "[::1]:1");
  EXPECT_EQ(parse_url("http://hub.example/x")->port, "80");
  EXPECT_EQ(parse_url("http://hub.example:443/x")->authority(), "hub.example:443");
  EXPECT_EQ(parse_url("https://hub.example:443/x")->origin(), "https://hub.example");
  EXPECT_EQ(parse_url("http://rag_server:80/x")->origin(), "http://rag_server");
}

TEST(Url, ABaseAddressHasNoSlashAtItsEndAndNoQuery) {
  EXPECT_EQ(parse_base_url("http://a")->target, "");
  EXPECT_EQ(parse_base_url("http://a//")->target, "");
  EXPECT_EQ(parse_base_url("http://a/v1/")->target, "/v1");
  for (const char* text : {"http://a/v1?key=1", "http://a?", "http://a/#x", "http://a#"})
    EXPECT_FALSE(parse_base_url(text).ok()) << text;
}

TEST(Url, APasswordIsNotRepeated) {
  for (const char* text :
       {"http://me:s3cret@a/", "ftp://me:s3cret@a/", "http://me:s3cret@a b", "https://s3cr@et@[a/"}) {
    for (const auto& url : {parse_url(text), parse_https_url(text), parse_base_url(text)}) {
      ASSERT_FALSE(url.ok()) << text;
      EXPECT_EQ(url.error().message.find("s3cr"), std::string::npos) << url.error().message;
    }
  }
}

TEST(Url, WhatIsNotPlainHttpsIsRefused) {
  for (const char* text : {"",
                           "http://a/",
                           "ftp://a/",
                           "https://",
                           "https:///x",
                           "https://u@a/",
                           "https://u:p@a/",
                           "https://a:0/",
                           "https://a:65536/",
                           "https://a:x/",
                           "https://a:/",
                           "https://[::1/",
                           "https://a/b c",
                           "https://a/\r\nHost: b",
                           "https://a\x7f/",
                           "https://-a/",
                           "HTTPS://a/",
                           "https://[::1]x/",
                           "https://a b/",
                           "file:///etc/passwd"}) {
    EXPECT_FALSE(parse_https_url(text).ok()) << text;
  }
  EXPECT_FALSE(parse_url("https://a/" + std::string(16 * 1024, 'x')).ok());
}

TEST(Url, RedirectsMayBeRelativeButNotLeaveHttps) {
  const Url from = *parse_https_url("https://a:444/x/y");
  EXPECT_EQ(resolve_redirect(from, "/z?s=1")->authority(), "a:444");
  EXPECT_EQ(resolve_redirect(from, "/z?s=1")->target, "/z?s=1");
  EXPECT_EQ(resolve_redirect(from, "//b/z")->authority(), "b");
  EXPECT_EQ(resolve_redirect(from, "https://c/")->authority(), "c");
  EXPECT_FALSE(resolve_redirect(from, "http://a/").ok());
  EXPECT_FALSE(resolve_redirect(from, "").ok());
}

}  // namespace
}  // namespace casemate
