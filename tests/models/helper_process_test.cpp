#include "models/helper_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

HelperRun shell(const std::string& script) { return {"/bin/sh", {"-c", script}, {"A=1"}, 10'000, {}}; }

TEST(HelperProcess, OutputCodeAndEnvironmentArePassed) {
  const auto run = run_helper(shell("echo out; echo \"$A$HOME\" >&2; cat; exit 3"), {});
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_EQ(run->output, "out\n1\n");
  EXPECT_EQ(run_helper(shell("kill -9 $$"), {})->signal, SIGKILL);
  EXPECT_EQ(run_helper({"/no/such", {}, {}, 1000, {}}, {}).error().code, ErrorCode::kNotFound);
}

TEST(HelperProcess, OnlyTheTailOfMuchOutputIsKept) {
  const auto run = run_helper(shell("yes 0123456789 | head -c 1000000; echo; echo end"), {});
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->output.size(), 64U * 1024);
  EXPECT_EQ(last_line(run->output), "end");
}

TEST(HelperProcess, TheWholeGroupEndsAtTheDeadlineAndOnRequest) {
  const test::TemporaryFolder folder;
  // The grandchild would write the file after two seconds.
  const std::string script = "(sleep 2; touch " + folder.path("late") + ") & sleep 30";
  HelperRun run = shell(script);
  run.timeout_ms = 200;
  EXPECT_EQ(run_helper(run, {}).error().code, ErrorCode::kTimeout);
  std::stop_source stop;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  EXPECT_EQ(run_helper(shell(script), stop.get_token()).error().code, ErrorCode::kCancelled);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(std::ifstream(folder.path("late")).good());
}

TEST(HelperProcess, TheLastLineIsSafeToShow) {
  EXPECT_EQ(last_line("a\nb \n\n  \n"), "b");
  EXPECT_EQ(last_line(""), "no message");
  EXPECT_EQ(last_line("x\x1b[31m\n").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace casemate
