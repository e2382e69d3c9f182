#include "interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "exit_codes.h"

namespace casemate::cli {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR2);  // our own: the program ends by itself
  return set;
}

/// A signal handler can reach nothing else.
std::atomic<pthread_t> watcher_thread{};

/// Libraries that start threads when they are loaded (OpenBLAS) have them before these signals are blocked, and one of
/// them may be given the signal.
void pass_on(int signal) { pthread_kill(watcher_thread, signal); }

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  watcher_ = std::thread([this, set] {
    while (true) {
      int signal = 0;
      if (sigwait(&set, &signal) != 0 || signal == SIGUSR2) return;
      if (source_.stop_requested()) ::_exit(kInterrupted);
      const char message[] = "\ncasemate: stopping; once more ends at once\n";
      (void)!::write(STDERR_FILENO, message, sizeof message - 1);
      source_.request_stop();
    }
  });
  watcher_thread = watcher_.native_handle();
  std::signal(SIGINT, pass_on);
  std::signal(SIGTERM, pass_on);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  pthread_kill(watcher_.native_handle(), SIGUSR2);
  watcher_.join();
}

}  // namespace casemate::cli
