#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "store/store_fixture.h"

extern char** environ;

namespace casemate::test {
namespace {

/// Starts the helper, kills it after `microseconds`, and gives the last batch that it acknowledged (or `first` - 1).
int run_and_kill(const std::string& store, int first, unsigned microseconds) {
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return -2;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string program = CASEMATE_KILL_HELPER;
  std::string path = store;
  std::string batch = std::to_string(first);
  char* arguments[] = {program.data(), path.data(), batch.data(), nullptr};
  pid_t child = -1;
  const int spawned = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (spawned != 0) return -2;
  ::usleep(microseconds);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the helper ended by itself with " << WEXITSTATUS(status);
  std::string output;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    output.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  const std::size_t end = output.rfind('\n');
  if (end == std::string::npos) return first - 1;
  const std::size_t begin = output.rfind('\n', end - 1);
  return std::stoi(output.substr(begin == std::string::npos ? 0 : begin + 1));
}

TEST(Kill, AtAnyMomentLosesAtMostTheRunningBatch) {
  const int rounds = std::getenv("CASEMATE_FULL_TESTS") != nullptr ? 200 : 20;
  const TemporaryFolder folder;
  RandomStream random(7, "kill-test");
  int next = 0;
  bool made = false;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const int acknowledged =
        run_and_kill(folder.path("s"), next, static_cast<unsigned>(20'000 + random.below(180'000)));
    ASSERT_GE(acknowledged, -1);
    made = made || acknowledged >= 0;
    StoreOptions options;
    const auto store = Store::open(folder.path("s"), options);
    if (!store && !made) continue;  // killed before the store was made
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->open_report().damaged.empty());
    for (int batch = next; batch <= acknowledged; ++batch) {
      for (int i = 0; i < 5; ++i) {
        const std::string id = std::to_string(batch) + "-" + std::to_string(i);
        EXPECT_TRUE((*store)->document("t", id).ok()) << id << " was acknowledged";
      }
    }
    const auto statistics = value_of((*store)->statistics());
    EXPECT_GE(statistics.documents, 5 * (acknowledged + 1));
    EXPECT_LE(statistics.documents, 5 * (acknowledged + 2)) << "at most one batch that was not acknowledged";
    EXPECT_EQ(statistics.documents % 5, 0) << "a batch is there as a whole or not at all";
    const auto report = value_of((*store)->check());
    for (const CheckProblem& problem : report.problems) ADD_FAILURE() << problem.file << ": " << problem.what;
    EXPECT_EQ(static_cast<std::int64_t>(texts_with_vectors(**store, "t").size()), statistics.chunks);
    next = acknowledged + 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(next, rounds) << "the helper must get something done between the kills";
}

}  // namespace
}  // namespace casemate::test
