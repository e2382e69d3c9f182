#include "terminal_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "casemate/core/elapsed.h"
#include "casemate/core/untrusted_text.h"

namespace casemate::cli {
namespace {

constexpr int kBarWidth = 28;
constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::seconds kPlainLine{10};

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  char buffer[32];
  if (whole >= 3600) {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld", whole / 60, whole % 60);
  }
  return buffer;
}

}  // namespace

std::string amount_text(double amount, const std::string& unit) {
  char buffer[48];
  if (unit != "bytes") {
    std::snprintf(buffer, sizeof buffer, "%.0f ", amount);
    return buffer + unit;
  }
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t step = 0;
  while (amount >= 1000 && step + 1 < std::size(kUnits)) {
    amount /= 1000;
    ++step;
  }
  std::snprintf(buffer, sizeof buffer, step == 0 ? "%.0f %s" : "%.1f %s", amount, kUnits[step]);
  return buffer;
}

TerminalProgress::TerminalProgress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {}

void TerminalProgress::begin(std::string_view stage, std::uint64_t total, std::string_view unit) {
  stage_ = stage;
  unit_ = unit;
  total_ = total;
  done_ = 0;
  active_ = true;
  begun_ = std::chrono::steady_clock::now();
  last_drawn_ = begun_;
  if (!quiet_ && !terminal_)
    std::cerr << stage_ << (total > 0 ? " " + amount_text(static_cast<double>(total), unit_) : "") << '\n';
}

void TerminalProgress::update(std::uint64_t done) {
  done_ = done;
  if (quiet_ || !active_) return;
  const Time now = std::chrono::steady_clock::now();
  if (terminal_ ? now - last_drawn_ < kRedraw : now - last_drawn_ < kPlainLine) return;
  last_drawn_ = now;
  draw(done);
}

void TerminalProgress::draw(std::uint64_t done) {
  const double seconds = seconds_since(begun_);
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = stage_ + " ";
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    if (terminal_) {
      const int full = static_cast<int>(share * kBarWidth);
      line += "[" + std::string(static_cast<std::size_t>(full), '#') +
              std::string(static_cast<std::size_t>(kBarWidth - full), '.') + "] ";
    }
    char percent[16];
    std::snprintf(percent, sizeof percent, "%3.0f %% ", share * 100);
    line += percent;
  }
  line += amount_text(static_cast<double>(done), unit_) + ", " + amount_text(rate, unit_) + "/s";
  if (total_ > done && rate > 0) line += ", " + duration_text(static_cast<double>(total_ - done) / rate) + " left";
  if (terminal_) {
    std::cerr << "\r\x1b[2K" << line << std::flush;
    drawn_ = true;
  } else {
    std::cerr << line << '\n';
  }
}

void TerminalProgress::clear_line() {
  if (drawn_) std::cerr << "\r\x1b[2K" << std::flush;
  drawn_ = false;
}

void TerminalProgress::note(std::string_view message) {
  clear_line();
  std::cerr << "casemate: " << UntrustedText(std::string(message)).for_terminal() << '\n';
}

void TerminalProgress::end() {
  clear_line();
  if (!quiet_ && active_ && !terminal_) {
    const double seconds = seconds_since(begun_);
    std::cerr << stage_ << " took " << duration_text(seconds) << '\n';
  }
  active_ = false;
}

}  // namespace casemate::cli
