// apps/casemate/interrupt.h
#pragma once

#include <stop_token>
#include <thread>

namespace casemate::cli {

/// Turns Ctrl-C and SIGTERM into a stop request; a second one ends the program at once (the store survives that).
/// Make one before any other thread, so that all threads leave these signals to it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::thread watcher_;
};

}  // namespace casemate::cli
