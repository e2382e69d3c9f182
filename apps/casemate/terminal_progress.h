// apps/casemate/terminal_progress.h
#pragma once

#include <chrono>
#include <string>

#include "casemate/core/progress.h"

namespace casemate::cli {

/// Progress on standard error: a bar with rate and time left on a terminal, plain lines elsewhere, nothing when quiet
/// (notes are problems and are always shown).
class TerminalProgress final : public Progress {
 public:
  explicit TerminalProgress(bool quiet);

  void begin(std::string_view stage, std::uint64_t total, std::string_view unit) override;
  void update(std::uint64_t done) override;
  void note(std::string_view message) override;
  void end() override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  void draw(std::uint64_t done);
  void clear_line();

  bool quiet_;
  bool terminal_;
  bool active_ = false;
  bool drawn_ = false;
  std::string stage_;
  std::string unit_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  Time begun_;
  Time last_drawn_;
};

/// "3.4 MB" for bytes, "1234 documents" for others.
[[nodiscard]] std::string amount_text(double amount, const std::string& unit);

}  // namespace casemate::cli
