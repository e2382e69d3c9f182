#include "formats/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

namespace casemate {
namespace {

Result<ChildOutput> shell(const std::string& script, std::string_view input = {}, const ChildLimits& limits = {}) {
  return run_child("/bin/sh", {"-c", script}, input, limits);
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(ChildProcess, LargeInputComesBackWhole) {
  std::string input(3'000'000, 'x');
  for (std::size_t i = 0; i < input.size(); i += 7) input[i] = static_cast<char>('a' + i % 26);
  const auto output = run_child("/bin/cat", {}, input, {});
  ASSERT_TRUE(output.ok()) << output.error().message;
  EXPECT_EQ(output->exit_code, 0);
  EXPECT_EQ(output->out, input);
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, CodesSignalsAndMessagesAreTold) {
  const auto failed = shell("echo why >&2; exit 7");
  EXPECT_EQ(failed->exit_code, 7);
  EXPECT_EQ(failed->err, "why\n");
  EXPECT_EQ(describe_end(*shell("kill -9 $$")), "stopped with signal 9");
}

TEST(ChildProcess, AChildThatTakesTooLongIsKilledAndReaped) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("sleep 30", {}, {.timeout_ms = 200}).error().code, ErrorCode::kTimeout);
  // One that closes its output and goes on is ended too.
  const auto closed = shell("exec >&- 2>&-; sleep 30", {}, {.timeout_ms = 200});
  EXPECT_TRUE(!closed.ok() || closed->signal == 9);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, TooMuchOutputIsALimit) {
  EXPECT_EQ(shell("yes", {}, {.output_bytes = 100'000}).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, MemoryAndFilesAreLimited) {
  const auto memory =
      shell("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo survived", {}, {.memory_bytes = 64U << 20U});
  EXPECT_TRUE(!memory.ok() || memory->out.find("survived") == std::string::npos || memory->exit_code != 0);
  const auto file = shell("echo x > /tmp/casemate-must-not-be; echo $?");
  EXPECT_TRUE(file->signal != 0 || file->out != "0\n") << file->out;
}

TEST(ChildProcess, NothingOfTheHostIsInherited) {
  ::setenv("CASEMATE_SECRET", "s", 1);
  EXPECT_EQ(shell("echo $CASEMATE_SECRET")->out, "\n");
  // The fourth is the folder that ls has open.
  EXPECT_EQ(run_child("/bin/ls", {"/proc/self/fd"}, {}, {})->out, "0\n1\n2\n3\n");
}

TEST(ChildProcess, AChildThatReadsNothingDoesNotBreakTheWriter) {
  const auto output = shell("exec <&-; echo done", std::string(5'000'000, 'x'));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "done\n");
}

TEST(ChildProcess, AMissingProgramIsNotFound) {
  EXPECT_EQ(run_child("/nowhere/program", {}, {}, {}).error().code, ErrorCode::kNotFound);
}

TEST(ChildProcess, ManyThreadsMayRunChildrenAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (std::size_t i = 0; i < good.size(); ++i) {
    threads.emplace_back([&good, i] {
      for (int round = 0; round < 10; ++round) {
        const std::string input = std::to_string(i) + "/" + std::to_string(round);
        const auto output = run_child("/bin/cat", {}, input, {});
        good[i] += output.ok() && output->out == input ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) EXPECT_EQ(count, 10);
}

}  // namespace
}  // namespace casemate
