#include <chrono>
#include <thread>

#include "models/hub_server.h"
#include "models/models_fixture.h"

namespace casemate::test {
namespace {

constexpr const char* kPath = "/owner/repo/resolve/main/weights.bin";

class PullHub : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    certificates_ = std::make_unique<TemporaryFolder>();
    certificate_ = make_certificate(certificates_->root());
  }
  static void TearDownTestSuite() { certificates_.reset(); }

  [[nodiscard]] ModelStore store(const std::string& expected) const {
    return open_store(folder_.path("models"),
                      model_yaml("m", file_yaml("weights.bin", expected, hub_yaml("weights.bin"))));
  }
  [[nodiscard]] static PullOptions options(const HubServer& server) {
    PullOptions options;
    options.hub_url = server.url();
    options.ca_file = certificate_.file;
    return options;
  }
  Result<PullReport> pull(const HubServer& server) { return store(body_).pull("m", options(server), progress_); }
  [[nodiscard]] std::string file() const { return folder_.path("models/m/weights.bin"); }

  static std::unique_ptr<TemporaryFolder> certificates_;
  static Certificate certificate_;
  TemporaryFolder folder_;
  CollectingProgress progress_;
  std::string body_ = noise(2'000'000);
};
std::unique_ptr<TemporaryFolder> PullHub::certificates_;
Certificate PullHub::certificate_;

TEST_F(PullHub, AFileIsFetchedCheckedAndReported) {
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  const auto report = pull(server);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->fetched.size(), 1U);
  EXPECT_EQ(report->fetched[0].source, "hugging-face");
  EXPECT_EQ(report->fetched[0].resumed_bytes, 0U);
  EXPECT_EQ(read_bytes(file()), body_);
  EXPECT_FALSE(exists(file() + ".part"));
  EXPECT_EQ(progress_.stages, std::vector<std::string>{"pull m 2000000 bytes"});
  EXPECT_EQ(progress_.last, body_.size());
  EXPECT_EQ(progress_.ends, 1);
  EXPECT_TRUE(progress_.notes.empty());
  EXPECT_EQ(*store(body_).path_of("m"), folder_.path("models/m"));
}

TEST_F(PullHub, WhatIsCompleteIsNotFetchedAgain) {
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  ASSERT_TRUE(pull(server).ok());
  const auto again = pull(server);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->fetched.empty());
  EXPECT_EQ(again->kept, std::vector<std::string>{"weights.bin"});
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_F(PullHub, ADamagedFileOfTheRightSizeIsMended) {
  std::string damaged = body_;
  damaged[77] = static_cast<char>(damaged[77] ^ 1);
  write_bytes(file(), damaged);
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  ASSERT_TRUE(pull(server).ok());
  EXPECT_EQ(read_bytes(file()), body_);
}

TEST_F(PullHub, AConnectionThatBreaksOffIsTakenUpAgainWhereItEnded) {
  const HubServer server(certificate_, {{kPath, {.body = body_, .drop_after = {700'000, 300'000}}}});
  const auto report = pull(server);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(read_bytes(file()), body_);
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.requests()[0], std::string(kPath) + " ");
  // The client may have got less than was sent, never more.
  const auto begin = std::stoul(server.requests()[1].substr(server.requests()[1].find('=') + 1));
  EXPECT_GT(begin, 0U);
  EXPECT_LE(begin, 700'000U);
}

TEST_F(PullHub, AnEarlierRunsPartIsResumed) {
  write_bytes(file() + ".part", body_.substr(0, 1'500'000));
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  const auto report = pull(server);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->fetched[0].resumed_bytes, 1'500'000U);
  EXPECT_EQ(server.requests(), std::vector<std::string>{std::string(kPath) + " bytes=1500000-"});
  EXPECT_EQ(read_bytes(file()), body_);
}

TEST_F(PullHub, APartOfOtherBytesIsFoundOutAndFetchedAnew) {
  write_bytes(file() + ".part", noise(1000, 99));
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  ASSERT_TRUE(pull(server).ok());
  EXPECT_EQ(read_bytes(file()), body_);
  EXPECT_NE(progress_.all_notes().find("what an earlier run left was wrong"), std::string::npos);
}

TEST_F(PullHub, AServerThatIgnoresRangesSendsAllAgain) {
  write_bytes(file() + ".part", body_.substr(0, 1'500'000));
  const HubServer server(certificate_, {{kPath, {.body = body_, .ignore_range = true}}});
  ASSERT_TRUE(pull(server).ok());
  EXPECT_EQ(read_bytes(file()), body_);
}

TEST_F(PullHub, ChunkedAnswersWork) {
  const HubServer server(certificate_, {{kPath, {.body = body_, .chunked = true}}});
  ASSERT_TRUE(pull(server).ok());
  EXPECT_EQ(read_bytes(file()), body_);
}

TEST_F(PullHub, AnotherRangeThanAskedForIsRefused) {
  write_bytes(file() + ".part", body_.substr(0, 1000));
  const HubServer server(certificate_, {{kPath, {.body = body_, .content_range = "bytes 0-1999999/2000000"}}});
  const auto report = pull(server);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("another range"), std::string::npos) << report.error().message;
}

TEST_F(PullHub, AWrongHashIsAnErrorThatNamesModelFileAndBothHashes) {
  const std::string other = noise(body_.size(), 5);
  const HubServer server(certificate_, {{kPath, {.body = other}}});
  const auto report = pull(server);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCorrupt);
  for (const std::string& part : {std::string("pull m: weights.bin"), hex_sha256(body_), hex_sha256(other)}) {
    EXPECT_NE(report.error().message.find(part), std::string::npos) << part << " in " << report.error().message;
  }
  EXPECT_FALSE(exists(file()));
  EXPECT_FALSE(exists(file() + ".part"));
}

TEST_F(PullHub, AFileOfAnotherLengthIsRefusedBeforeItIsFetched) {
  const HubServer longer(certificate_, {{kPath, {.body = body_ + "x"}}});
  const auto report = pull(longer);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("has 2000001 bytes, expected 2000000"), std::string::npos);
  EXPECT_EQ(read_bytes(file() + ".part").size(), 0U);
  const HubServer endless(certificate_, {{kPath, {.body = body_ + body_, .chunked = true}}});
  EXPECT_FALSE(pull(endless).ok());
  EXPECT_LE(read_bytes(file() + ".part").size(), body_.size());
}

TEST_F(PullHub, RedirectsAreFollowedButNotForEverAndNotOutOfHttps) {
  const HubServer server(certificate_,
                         {{kPath, {.status = 302, .location = "/cdn/x?sig=1"}}, {"/cdn/x?sig=1", {.body = body_}}});
  ASSERT_TRUE(pull(server).ok());
  EXPECT_EQ(read_bytes(file()), body_);
  std::filesystem::remove(file());
  const HubServer loop(certificate_, {{kPath, {.status = 307, .location = kPath}}});
  EXPECT_NE(pull(loop).error().message.find("redirects more than 5 times"), std::string::npos);
  const HubServer down(certificate_, {{kPath, {.status = 302, .location = "http://127.0.0.1/x"}}});
  EXPECT_NE(pull(down).error().message.find("must begin with https://"), std::string::npos);
}

TEST_F(PullHub, StatusesAreTold) {
  const HubServer server(certificate_, {{kPath, {.status = 503}}});
  EXPECT_NE(pull(server).error().message.find("answered with status 503"), std::string::npos);
  const HubServer empty(certificate_, {});
  EXPECT_NE(pull(empty).error().message.find("answered with status 404"), std::string::npos);
}

TEST_F(PullHub, ACertificateThatIsNotTrustedOrForAnotherHostIsRefused) {
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  PullOptions untrusting = options(server);
  const TemporaryFolder other;
  untrusting.ca_file = make_certificate(other.root()).file;
  const auto refused = store(body_).pull("m", untrusting, progress_);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("agree on TLS"), std::string::npos) << refused.error().message;
  PullOptions other_name = options(server);
  other_name.hub_url = server.url("localhost");  // the certificate is for 127.0.0.1
  EXPECT_FALSE(store(body_).pull("m", other_name, progress_).ok());
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(PullHub, SilenceEndsInATimeout) {
  const HubServer server(certificate_, {{kPath, {.body = body_, .stall_after = 0}}});
  PullOptions impatient = options(server);
  impatient.idle_timeout_ms = 300;
  const auto begin = std::chrono::steady_clock::now();
  const auto report = store(body_).pull("m", impatient, progress_);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("no answer in time"), std::string::npos) << report.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(PullHub, StoppingLeavesThePartForTheNextRun) {
  const HubServer server(certificate_, {{kPath, {.body = body_, .stall_after = 1'000'000}}});
  std::stop_source stop;
  progress_.on_update = [&](std::uint64_t done) {
    if (done >= 500'000) stop.request_stop();
  };
  const auto report = store(body_).pull("m", options(server), progress_, stop.get_token());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::kCancelled);
  const std::string part = read_bytes(file() + ".part");
  EXPECT_GE(part.size(), 500'000U);
  EXPECT_EQ(part, body_.substr(0, part.size()));
  const auto info = store(body_).find("m");
  EXPECT_EQ(info->state, ModelState::kPartial);
  EXPECT_EQ(info->remedy, "casemate models pull m");
}

TEST_F(PullHub, AFullDiskIsToldBeforeAndDuring) {
  const HubServer server(certificate_, {{kPath, {.body = body_}}});
  const std::string huge = "      - {name: weights.bin, bytes: 4000000000000, sha256: " + std::string(64, 'a') +
                           ", sources: [" + hub_yaml("weights.bin") + "]}\n";
  const auto early = open_store(folder_.path("models"), model_yaml("m", huge)).pull("m", options(server), progress_);
  EXPECT_EQ(early.error().code, ErrorCode::kNoSpace);
  EXPECT_TRUE(server.requests().empty());
  // A device on which every write finds no room stands for a disk that fills up meanwhile.
  std::filesystem::create_directories(folder_.path("models/m"));
  std::filesystem::create_symlink("/dev/full", file() + ".part");
  const auto late = pull(server);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kNoSpace);
  EXPECT_NE(late.error().message.find("make room"), std::string::npos) << late.error().message;
}

TEST_F(PullHub, OptionsAreChecked) {
  const HubServer server(certificate_, {});
  PullOptions bad = options(server);
  bad.source = "pypy";
  EXPECT_EQ(store(body_).pull("m", bad, progress_).error().message,
            "\"pypy\" is no source of models (did you mean \"pypi\"?)");
  bad.source = "pypi";
  EXPECT_EQ(store(body_).pull("m", bad, progress_).error().code, ErrorCode::kInvalidOption);
  bad.source.clear();
  bad.idle_timeout_ms = 0;
  EXPECT_EQ(store(body_).pull("m", bad, progress_).error().code, ErrorCode::kInvalidOption);
  bad.idle_timeout_ms = 1000;
  bad.hub_url = "http://127.0.0.1";
  EXPECT_FALSE(store(body_).pull("m", bad, progress_).ok());
  EXPECT_EQ(store(body_).pull("mm", bad, progress_).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(server.requests().empty());
}

}  // namespace
}  // namespace casemate::test
