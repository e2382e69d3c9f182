#include "casemate/core/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace casemate {
namespace {

ChildRun command(const std::string& program, const std::vector<std::string>& arguments) {
  ChildRun run;
  run.program = program;
  run.arguments = arguments;
  return run;
}

/// A run of `script`, to be changed before it is run.
ChildRun script(const std::string& text) { return command("/bin/sh", {"-c", text}); }

Result<ChildOutput> shell(const std::string& text) { return run_child(script(text)); }

/// A program of the user's, whose output is kept as one.
ChildRun trusted(const std::string& text) {
  ChildRun run = script(text);
  run.environment = {"A=1"};
  run.trusted = true;
  run.merge_errors = true;
  run.keep_tail = true;
  run.output_bytes = 64U * 1024;
  return run;
}

bool no_children() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(ChildProcess, LargeInputComesBackWhole) {
  std::string input(3'000'000, 'x');
  for (std::size_t i = 0; i < input.size(); i += 7) input[i] = static_cast<char>('a' + i % 26);
  ChildRun run = command("/bin/cat", {});
  run.input = input;
  const auto output = run_child(run);
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
  ChildRun run = script("sleep 30");
  run.timeout_ms = 200;
  EXPECT_EQ(run_child(run).error().code, ErrorCode::kTimeout);
  // One that closes its output and goes on is ended too.
  run.arguments.back() = "exec >&- 2>&-; sleep 30";
  EXPECT_EQ(run_child(run).error().code, ErrorCode::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, TooMuchOutputIsALimit) {
  ChildRun run = script("yes");
  run.output_bytes = 100'000;
  EXPECT_EQ(run_child(run).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, MemoryAndFilesAreLimited) {
  ChildRun run = script("x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo survived");
  run.memory_bytes = 64U << 20U;
  const auto memory = run_child(run);
  EXPECT_TRUE(!memory.ok() || memory->out.find("survived") == std::string::npos || memory->exit_code != 0);
  const auto file = shell("echo x > /tmp/casemate-must-not-be; echo $?");
  EXPECT_TRUE(file->signal != 0 || file->out != "0\n") << file->out;
}

TEST(ChildProcess, NothingOfTheHostIsInherited) {
  ::setenv("CASEMATE_SECRET", "s", 1);
  EXPECT_EQ(shell("echo $CASEMATE_SECRET")->out, "\n");
  // The fourth is the folder that ls has open.
  EXPECT_EQ(run_child(command("/bin/ls", {"/proc/self/fd"}))->out, "0\n1\n2\n3\n");
}

TEST(ChildProcess, AChildThatReadsNothingDoesNotBreakTheWriter) {
  const std::string input(5'000'000, 'x');
  ChildRun run = script("exec <&-; echo done");
  run.input = input;
  const auto output = run_child(run);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "done\n");
}

TEST(ChildProcess, AMissingProgramIsNotFound) {
  EXPECT_EQ(run_child(command("/nowhere/program", {})).error().code, ErrorCode::kNotFound);
}

TEST(ChildProcess, ManyThreadsMayRunChildrenAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (std::size_t i = 0; i < good.size(); ++i) {
    threads.emplace_back([&good, i] {
      for (int round = 0; round < 10; ++round) {
        const std::string input = std::to_string(i) + "/" + std::to_string(round);
        ChildRun run = command("/bin/cat", {});
        run.input = input;
        const auto output = run_child(run);
        good[i] += output.ok() && output->out == input ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) EXPECT_EQ(count, 10);
}

TEST(ChildProcess, ATrustedProgramWritesFilesAndItsOutputIsOne) {
  const test::TemporaryFolder folder;
  const auto run =
      run_child(trusted("echo out; echo \"$A$HOME\" >&2; cat; echo x > " + folder.path("file") + "; exit 3"));
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_EQ(run->out, "out\n1\n");
  EXPECT_TRUE(std::ifstream(folder.path("file")).good());
}

TEST(ChildProcess, OnlyTheTailOfMuchOutputIsKeptWhereAsked) {
  const auto run = run_child(trusted("yes 0123456789 | head -c 1000000; echo; echo end"));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out.size(), 64U * 1024);
  EXPECT_EQ(last_line(run->out), "end");
}

TEST(ChildProcess, TheWholeGroupEndsAtTheDeadlineAndOnRequest) {
  const test::TemporaryFolder folder;
  // The grandchild would write the file after two seconds.
  ChildRun run = trusted("(sleep 2; touch " + folder.path("late") + ") & sleep 30");
  run.timeout_ms = 200;
  EXPECT_EQ(run_child(run).error().code, ErrorCode::kTimeout);
  run.timeout_ms = 20'000;
  std::stop_source stop;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  EXPECT_EQ(run_child(run, stop.get_token()).error().code, ErrorCode::kCancelled);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(std::ifstream(folder.path("late")).good());
  EXPECT_TRUE(no_children());
}

TEST(ChildProcess, AGrandchildThatHoldsTheOutputIsNotWaitedFor) {
  const auto start = std::chrono::steady_clock::now();
  const auto run = run_child(trusted("echo done; sleep 5 &"));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->out, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(ChildProcess, TicksComeWhileItRuns) {
  int ticks = 0;
  ChildRun run = trusted("sleep 0.5");
  run.on_tick = [&ticks] { ++ticks; };
  ASSERT_TRUE(run_child(run).ok());
  EXPECT_GE(ticks, 3);
  EXPECT_LE(ticks, 7);
}

TEST(ChildProcess, TheLastLineIsSafeToShow) {
  EXPECT_EQ(last_line("a\nb \n\n  \n"), "b");
  EXPECT_EQ(last_line(""), "no message");
  EXPECT_EQ(last_line("x\x1b[31m\n").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace casemate
