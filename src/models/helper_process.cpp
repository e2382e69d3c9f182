#include "models/helper_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "casemate/core/untrusted_text.h"
#include "models/descriptor.h"

namespace casemate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr off_t kMaxOutputBytes = 64 * 1024;

Error unavailable(const std::string& program, std::string_view what, int code) {
  return Error{ErrorCode::kUnavailable, program + ": cannot " + std::string(what) + ": " + std::strerror(code)};
}

/// Between fork and exec: async-signal-safe calls only, nothing allocated.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment, int in, int out,
                         pid_t parent, const sigset_t& signals) {
  // Copies above 2 cannot be overwritten while 0, 1 and 2 are filled.
  const int high_in = ::fcntl(in, F_DUPFD, 10);
  const int high_out = ::fcntl(out, F_DUPFD, 10);
  if (::dup2(high_in, 0) < 0 || ::dup2(high_out, 1) < 0 || ::dup2(high_out, 2) < 0) ::_exit(126);
  ::close_range(3, ~0U, 0);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD, SIGHUP}) ::sigaction(number, &standard, nullptr);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execve(program, arguments, environment);
  ::_exit(127);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

pid_t start(const HelperRun& run, int in, int out) {
  std::vector<std::string> words{run.program};
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  std::vector<std::string> variables = run.environment;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(variables);
  const pid_t parent = ::getpid();
  // No handler of the host program may run in the child.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) become(run.program.c_str(), argv.data(), envp.data(), in, out, parent, before);
  const int code = errno;
  if (child > 0) ::setpgid(child, child);  // in both, so that neither has to wait for the other
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return child;
}

void kill_group(pid_t child) {
  ::kill(-child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string tail_of(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - kMaxOutputBytes);
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - begin)), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

}  // namespace

Result<HelperOutput> run_helper(const HelperRun& run, const std::stop_token& stop) {
  if (::access(run.program.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kNotFound, run.program + ": no such program, or it may not be run"};
  }
  const Descriptor in(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor out(::memfd_create("casemate-helper", MFD_CLOEXEC));
  if (in.get() < 0 || out.get() < 0) return unavailable(run.program, "open its output", errno);
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(run.timeout_ms);
  const pid_t child = start(run, in.get(), out.get());
  if (child < 0) return unavailable(run.program, "start", errno);
  Clock::time_point next_tick = Clock::now();
  int status = 0;
  while (true) {
    const pid_t got = ::waitpid(child, &status, WNOHANG);
    if (got == child) break;
    if (got < 0 && errno != EINTR) {
      ::kill(-child, SIGKILL);
      return unavailable(run.program, "observe its end", errno);
    }
    if (stop.stop_requested()) {
      kill_group(child);
      return Error{ErrorCode::kCancelled, run.program + ": stopped"};
    }
    const Clock::time_point now = Clock::now();
    if (now >= deadline) {
      kill_group(child);
      return Error{ErrorCode::kTimeout, run.program + ": not done within " + std::to_string(run.timeout_ms) + " ms"};
    }
    if (run.on_tick && now >= next_tick) {
      run.on_tick();
      next_tick = now + std::chrono::milliseconds(100);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  HelperOutput output;
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  output.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  output.output = tail_of(out.get());
  return output;
}

std::string last_line(const std::string& output) {
  const std::size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "no message";
  const std::size_t line = output.rfind('\n', end);
  const std::size_t begin = line == std::string::npos ? 0 : line + 1;
  return UntrustedText(output.substr(begin, end + 1 - begin)).for_log(400);
}

}  // namespace casemate
