#include "interrupt.h"

#include <pthread.h>
#include <unistd.h>

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
}

Interrupt::~Interrupt() {
  pthread_kill(watcher_.native_handle(), SIGUSR2);
  watcher_.join();
}

}  // namespace casemate::cli
