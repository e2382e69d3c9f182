// casemate/core/untrusted_text.h
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace casemate {

/// Text that came from a document, a query or a model: it may be an attack on whatever shows it.
///
/// It is valid UTF-8 or not, and never converts to a plain string by itself. Each target has one door:
/// a prompt, a terminal, a log, a page. Code that computes on the text (tokenizers, hashes, metrics)
/// asks for `bytes()`, whose name is easy to search for in a review.
class UntrustedText {
 public:
  UntrustedText() = default;
  explicit UntrustedText(std::string bytes) : bytes_(std::move(bytes)) {}

  /// The bytes as they are. For computing, never for output.
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }

  /// For a model prompt: invalid UTF-8 becomes U+FFFD, NUL and other C0/C1 controls except tab and
  /// newline become blanks. Special tokens in it stay text because callers tokenise it in text mode.
  [[nodiscard]] std::string for_prompt() const;
  /// For a terminal: as for a log, but line feeds are kept. No escape sequence gets through.
  [[nodiscard]] std::string for_terminal() const;
  /// For one line of a log: controls, bidirectional and invisible characters as \u{...}, invalid bytes as \x...
  [[nodiscard]] std::string for_log(std::size_t max_bytes = 200) const;
  /// For HTML text and attribute values: & < > " ' escaped, invalid bytes as U+FFFD, controls dropped.
  [[nodiscard]] std::string for_html() const;
  /// For JSON output: valid UTF-8, invalid bytes as U+FFFD. (Quoting is the JSON library's work.)
  [[nodiscard]] std::string for_json() const;

  friend bool operator==(const UntrustedText&, const UntrustedText&) = default;

 private:
  std::string bytes_;
};

}  // namespace casemate
