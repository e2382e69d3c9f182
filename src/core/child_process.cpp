#include "casemate/core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "casemate/core/untrusted_text.h"
#include "core/descriptor.h"

namespace casemate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxErrorBytes = 64 * 1024;
constexpr std::chrono::milliseconds kTick{100};

struct Channel {
  Descriptor ours;
  Descriptor theirs;
};

/// A socket pair rather than a pipe: writing to a child that has gone must not raise SIGPIPE in the host program.
bool open_channel(Channel& channel) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return false;
  channel.ours = Descriptor(fds[0]);
  channel.theirs = Descriptor(fds[1]);
  return ::fcntl(channel.ours.get(), F_SETFL, O_NONBLOCK) == 0;
}

Error unavailable(const std::string& program, std::string_view what, int code) {
  return Error{ErrorCode::kUnavailable, program + ": cannot " + std::string(what) + ": " + std::strerror(code)};
}

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

/// What the forked child does until it is another program: async-signal-safe calls only, nothing allocated.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment, const int (&fds)[3],
                         const ChildRun& run, pid_t parent, const sigset_t& signals) {
  // The three may be any numbers; copies above them cannot be overwritten while 0, 1 and 2 are filled.
  int high[3];
  for (int i = 0; i < 3; ++i) high[i] = ::fcntl(fds[i], F_DUPFD, 10);
  for (int i = 0; i < 3; ++i) {
    if (::dup2(high[i], i) < 0) ::_exit(126);
  }
  ::close_range(3, ~0U, 0);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  limit(RLIMIT_CORE, 0);
  if (!run.trusted) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_NOFILE, 64);
    limit(RLIMIT_CPU, static_cast<rlim_t>(run.timeout_ms / 1000 + 2));
    if (run.memory_bytes > 0) limit(RLIMIT_AS, static_cast<rlim_t>(run.memory_bytes));
  }
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

pid_t start(const ChildRun& run, const int (&fds)[3]) {
  std::vector<std::string> words{run.program};
  words.insert(words.end(), run.arguments.begin(), run.arguments.end());
  std::vector<std::string> variables = run.environment;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  const pid_t parent = ::getpid();
  // No handler of the host program may run in the child.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) become(run.program.c_str(), argv.data(), environment.data(), fds, run, parent, before);
  const int code = errno;
  if (child > 0) ::setpgid(child, child);  // in both, so that neither has to wait for the other
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return child;
}

/// Kills the child's group and reaps the child unless that was done.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) kill();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// True once the child has ended. `status` is then its wait status, or -1 where someone else took it (a host program
  /// that ignores SIGCHLD).
  bool ended(int& status) {
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    if (got < 0) status = -1;
    pid_ = -1;
    return true;
  }

 private:
  void kill() const {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  pid_t pid_;
};

class Conversation {
 public:
  Conversation(const ChildRun& run, const std::stop_token& stop, Child& child, Descriptor in, Descriptor out,
               Descriptor err)
      : run_(run),
        stop_(stop),
        child_(child),
        in_(std::move(in)),
        out_(std::move(out)),
        err_(std::move(err)),
        input_(run.input),
        deadline_(Clock::now() + std::chrono::milliseconds(run.timeout_ms)) {}

  /// Writes and reads until the child has ended; `status` is then its wait status.
  Status talk(ChildOutput& output, int& status) {
    if (input_.empty()) in_ = Descriptor();
    while (!child_.ended(status)) {
      const Clock::time_point now = Clock::now();
      if (stop_.stop_requested()) return Error{ErrorCode::kCancelled, run_.program + ": stopped"};
      if (now >= deadline_) return timed_out();
      if (run_.on_tick && now >= next_tick_) {
        run_.on_tick();
        next_tick_ = now + kTick;
      }
      if (Status moved = exchange(output, pause(now)); !moved) return moved;
    }
    // What it wrote last. A grandchild that lives on may hold the other ends open, so nothing is waited for.
    std::size_t before = 0;
    do {
      before = taken_;
      if (Status moved = exchange(output, 0); !moved) return moved;
    } while (taken_ > before && Clock::now() < deadline_);
    trim(output.out);
    return {};
  }

 private:
  /// Once its output is closed the child is about to end, which nothing announces.
  [[nodiscard]] int pause(Clock::time_point now) const {
    if (out_.get() < 0 && err_.get() < 0) return 1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - now) + std::chrono::milliseconds(1);
    return static_cast<int>(std::min(left, kTick).count());
  }

  Status exchange(ChildOutput& output, int wait_ms) {
    std::array<pollfd, 3> waits = {{{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), wait_ms);
    if (ready < 0 && errno != EINTR) return unavailable(run_.program, "wait", errno);
    if (ready <= 0) return {};
    if (waits[0].revents != 0) write_some();
    if (waits[1].revents != 0 && !read_some(out_, output.out, run_.output_bytes, run_.keep_tail)) return too_much();
    if (waits[2].revents != 0 && !read_some(err_, output.err, kMaxErrorBytes, false)) err_ = Descriptor();
    return {};
  }

  void write_some() {
    const ssize_t sent =
        ::send(in_.get(), input_.data(), std::min<std::size_t>(input_.size(), 256 * 1024), MSG_NOSIGNAL);
    if (sent > 0) input_.remove_prefix(static_cast<std::size_t>(sent));
    const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
    if (input_.empty() || (sent < 0 && !again)) in_ = Descriptor();
  }

  /// False where `limit` is passed and what came first is wanted.
  bool read_some(Descriptor& from, std::string& to, std::uint64_t limit, bool keep_tail) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) {
      from = Descriptor();
      return true;
    }
    const auto size = static_cast<std::size_t>(got);
    taken_ += size;
    if (!keep_tail && to.size() + size > limit) return false;
    to.append(buffer.data(), size);
    // Twice the limit at most is held, so that trimming costs a constant for each byte.
    if (keep_tail && to.size() > limit && to.size() - limit > limit) trim(to);
    return true;
  }

  void trim(std::string& text) const {
    if (run_.keep_tail && text.size() > run_.output_bytes) text.erase(0, text.size() - run_.output_bytes);
  }

  Status timed_out() const {
    return Error{ErrorCode::kTimeout, run_.program + ": not done within " + std::to_string(run_.timeout_ms) + " ms"};
  }
  Status too_much() const {
    return Error{ErrorCode::kLimit,
                 run_.program + ": more than " + std::to_string(run_.output_bytes) + " bytes of output"};
  }

  const ChildRun& run_;
  const std::stop_token& stop_;
  Child& child_;
  Descriptor in_;
  Descriptor out_;
  Descriptor err_;
  std::string_view input_;
  std::size_t taken_ = 0;  ///< bytes read
  Clock::time_point deadline_;
  Clock::time_point next_tick_{};
};

}  // namespace

Result<ChildOutput> run_child(const ChildRun& run, const std::stop_token& stop) {
  if (::access(run.program.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kNotFound, run.program + ": no such program, or it may not be run"};
  }
  Channel in;
  Channel out;
  Channel err;
  if (!open_channel(in) || !open_channel(out) || (!run.merge_errors && !open_channel(err)))
    return unavailable(run.program, "open a channel", errno);
  const int fds[3] = {in.theirs.get(), out.theirs.get(), run.merge_errors ? out.theirs.get() : err.theirs.get()};
  const pid_t pid = start(run, fds);
  if (pid < 0) return unavailable(run.program, "start", errno);
  Child child(pid);
  in.theirs = Descriptor();
  out.theirs = Descriptor();
  err.theirs = Descriptor();
  ChildOutput output;
  int status = 0;
  const Status talked =
      Conversation(run, stop, child, std::move(in.ours), std::move(out.ours), std::move(err.ours)).talk(output, status);
  if (!talked) return talked.error();
  if (status == -1) return Error{ErrorCode::kUnavailable, run.program + ": its end could not be observed"};
  if (WIFSIGNALED(status)) {
    output.exit_code = -1;
    output.signal = WTERMSIG(status);
  } else {
    output.exit_code = WEXITSTATUS(status);
  }
  return output;
}

std::string describe_end(const ChildOutput& output) {
  if (output.signal != 0) return "stopped with signal " + std::to_string(output.signal);
  return "ended with code " + std::to_string(output.exit_code);
}

std::string last_line(const std::string& output) {
  const std::size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "no message";
  const std::size_t line = output.rfind('\n', end);
  const std::size_t begin = line == std::string::npos ? 0 : line + 1;
  return UntrustedText(output.substr(begin, end + 1 - begin)).for_log(400);
}

}  // namespace casemate
