#include "formats/child_process.h"

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
#include <thread>
#include <utility>

namespace casemate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxErrorBytes = 64 * 1024;

class Handle {
 public:
  explicit Handle(int fd = -1) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~Handle() { reset(); }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Channel {
  Handle ours;
  Handle theirs;
};

/// A socket pair rather than a pipe: writing to a child that has gone must not raise SIGPIPE in the host program.
bool open_channel(Channel& channel) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) return false;
  channel.ours.reset(fds[0]);
  channel.theirs.reset(fds[1]);
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
                         const ChildLimits& limits, pid_t parent, const sigset_t& signals) {
  // The three may be any numbers; copies above them cannot be overwritten while 0, 1 and 2 are filled.
  int high[3];
  for (int i = 0; i < 3; ++i) high[i] = ::fcntl(fds[i], F_DUPFD, 10);
  for (int i = 0; i < 3; ++i) {
    if (::dup2(high[i], i) < 0) ::_exit(126);
  }
  ::close_range(3, ~0U, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 64);
  limit(RLIMIT_CPU, static_cast<rlim_t>(limits.timeout_ms / 1000 + 2));
  if (limits.memory_bytes > 0) limit(RLIMIT_AS, static_cast<rlim_t>(limits.memory_bytes));
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGCHLD}) ::sigaction(number, &standard, nullptr);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::execve(program, arguments, environment);
  ::_exit(127);
}

pid_t start(const std::string& program, const std::vector<std::string>& arguments, const int (&fds)[3],
            const ChildLimits& limits) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string locale = "LC_ALL=C.UTF-8";
  std::array<char*, 2> environment = {locale.data(), nullptr};
  const pid_t parent = ::getpid();
  // No handler of the host program may run in the child.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) become(program.c_str(), argv.data(), environment.data(), fds, limits, parent, before);
  const int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = code;
  return child;
}

/// Kills and reaps the child unless that was done.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    (void)reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// As `reap`, but kills the child at `deadline`: it may have closed its output and go on.
  int reap_until(Clock::time_point deadline) {
    while (Clock::now() < deadline) {
      int status = 0;
      const pid_t got = ::waitpid(pid_, &status, WNOHANG);
      if (got == pid_) return pid_ = -1, status;
      if (got < 0 && errno != EINTR) return pid_ = -1, -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::kill(pid_, SIGKILL);
    return reap();
  }
  /// The wait status; -1 where someone else took it (a host program that ignores SIGCHLD).
  int reap() {
    int status = 0;
    pid_t got = 0;
    do {
      got = ::waitpid(pid_, &status, 0);
    } while (got < 0 && errno == EINTR);
    pid_ = -1;
    return got < 0 ? -1 : status;
  }

 private:
  pid_t pid_;
};

class Conversation {
 public:
  Conversation(const std::string& program, Handle in, Handle out, Handle err, std::string_view input,
               const ChildLimits& limits, Clock::time_point deadline)
      : program_(program),
        in_(std::move(in)),
        out_(std::move(out)),
        err_(std::move(err)),
        input_(input),
        limits_(limits),
        deadline_(deadline) {}

  /// Writes and reads until the child has closed its ends.
  Status run(ChildOutput& output) {
    if (input_.empty()) in_.reset();
    while (out_.get() >= 0 || err_.get() >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0) return timed_out();
      std::array<pollfd, 3> waits = {{{in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
      const int ready = ::poll(waits.data(), waits.size(), static_cast<int>(left.count()));
      if (ready < 0 && errno != EINTR) return unavailable(program_, "wait", errno);
      if (ready <= 0) continue;
      if (waits[0].revents != 0) write_some();
      if (waits[1].revents != 0 && !read_some(out_, output.out, limits_.output_bytes)) return too_much();
      if (waits[2].revents != 0 && !read_some(err_, output.err, kMaxErrorBytes)) err_.reset();
    }
    return {};
  }

 private:
  void write_some() {
    const ssize_t sent =
        ::send(in_.get(), input_.data(), std::min<std::size_t>(input_.size(), 256 * 1024), MSG_NOSIGNAL);
    if (sent > 0) input_.remove_prefix(static_cast<std::size_t>(sent));
    const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
    if (input_.empty() || (sent < 0 && !again)) in_.reset();
  }

  /// False where `limit` is passed.
  bool read_some(Handle& from, std::string& to, std::uint64_t limit) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) {
      from.reset();
      return true;
    }
    const auto size = static_cast<std::size_t>(got);
    if (to.size() + size > limit) return false;
    to.append(buffer.data(), size);
    return true;
  }

  Status timed_out() const {
    return Error{ErrorCode::kTimeout, program_ + ": no result within " + std::to_string(limits_.timeout_ms) +
                                          " ms (limits.child_timeout_ms)"};
  }
  Status too_much() const {
    return Error{ErrorCode::kLimit, program_ + ": more than " + std::to_string(limits_.output_bytes) +
                                        " bytes of text (limits.child_output_bytes)"};
  }

  const std::string& program_;
  Handle in_;
  Handle out_;
  Handle err_;
  std::string_view input_;
  const ChildLimits& limits_;
  Clock::time_point deadline_;
};

}  // namespace

Result<ChildOutput> run_child(const std::string& program, const std::vector<std::string>& arguments,
                              std::string_view input, const ChildLimits& limits) {
  if (::access(program.c_str(), X_OK) != 0) {
    return Error{ErrorCode::kNotFound, program + ": no such program, or it may not be run"};
  }
  Channel in;
  Channel out;
  Channel err;
  if (!open_channel(in) || !open_channel(out) || !open_channel(err))
    return unavailable(program, "open a channel", errno);
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  const int fds[3] = {in.theirs.get(), out.theirs.get(), err.theirs.get()};
  const pid_t pid = start(program, arguments, fds, limits);
  if (pid < 0) return unavailable(program, "start", errno);
  Child child(pid);
  in.theirs.reset();
  out.theirs.reset();
  err.theirs.reset();
  ChildOutput output;
  const Status talked =
      Conversation(program, std::move(in.ours), std::move(out.ours), std::move(err.ours), input, limits, deadline)
          .run(output);
  if (!talked) return talked.error();
  const int status = child.reap_until(deadline);
  if (status == -1) return Error{ErrorCode::kUnavailable, program + ": its end could not be observed"};
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

}  // namespace casemate
