// Text in base64 or hexadecimal inside a stream.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace casemate::sanitize {

struct Decoded {
  std::string text;
  std::string_view coding;  ///< "base64", "hex"
};

/// The run of code characters that the stream is in. Line ends inside a long one belong to it (mail wraps at 76).
class EncodedRun {
 public:
  /// True where it is time to look into the run: it has ended, or grown by another 256 characters.
  bool push(char32_t value);
  /// The stream has ended. True where there is something to look into.
  bool finish();
  [[nodiscard]] bool empty() const noexcept { return code_.empty(); }
  /// True where the run is long enough to be code, so that it must not go out before it was looked into.
  [[nodiscard]] bool holds() const noexcept { return code_.size() > kHeld && !ended_; }
  /// Forgets the beginning of a very long run that was looked into; how many characters.
  std::size_t trim();
  /// What the run says, by each coding that fits.
  [[nodiscard]] std::vector<Decoded> decode() const;

 private:
  static constexpr std::size_t kHeld = 20;     ///< longer than words are
  static constexpr std::size_t kWrapped = 56;  ///< a line this long may go on after its end
  static constexpr std::size_t kLongest = 4096;
  static constexpr std::size_t kOverlap = 1024;  ///< left of a trimmed run; a multiple of 4 bytes goes
  static constexpr std::size_t kShortest = 24;   ///< 18 bytes of text
  std::string code_;
  bool ended_ = false;
  bool line_ended_ = false;
  std::size_t looked_at_ = 0;
  std::size_t line_ = 0;
};

}  // namespace casemate::sanitize
