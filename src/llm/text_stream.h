// Turns the bytes of generated tokens into text that may be shown at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/llm/language_model.h"

namespace casemate::llm {

/// Holds back what may still become part of a character or of a stop string; broken UTF-8 becomes U+FFFD.
class TextStream {
 public:
  /// `on_text` may be empty; both arguments must outlive the stream.
  TextStream(std::span<const std::string> stop_strings, const OnText& on_text)
      : stop_strings_(stop_strings), on_text_(on_text) {}

  /// Adds bytes. False where a stop string was met or the receiver had enough; then nothing more is taken.
  bool push(std::string_view bytes);
  /// The generation is over: gives out what was held back.
  void finish();

  [[nodiscard]] bool met_stop_string() const noexcept { return met_stop_string_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void emit(std::string_view text);

  std::span<const std::string> stop_strings_;
  const OnText& on_text_;
  std::string bytes_;    ///< an unfinished character
  std::string pending_;  ///< whole characters that may be the start of a stop string
  std::string text_;     ///< given out
  bool met_stop_string_ = false;
  bool refused_ = false;
};

}  // namespace casemate::llm
