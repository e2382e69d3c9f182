// casemate/text/finding.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/untrusted_text.h"
#include "casemate/text/offset_map.h"

namespace casemate {

/// What was noticed in a source. Names (`finding_kind_name`) are stable: reports and gates refer to them.
enum class FindingKind : std::uint8_t {
  kInvisibleCharacters,  ///< zero-width and other characters that show nothing; kept out of the text
  kSoftHyphens,          ///< U+00AD; kept out of the text (harmless in most documents)
  kBidiControls,         ///< characters that reorder what is shown; kept out
  kTagCharacters,        ///< U+E0000.., invisible ASCII; kept out, the note holds the decoded ASCII
  kControlCharacters,    ///< C0 and C1 controls; kept out
  kInvalidUtf8,          ///< broken sequences; each became U+FFFD
  kHiddenHtml,           ///< markup that a browser does not show; kept out
  kHtmlComment,          ///< kept out
  kAltFlood,             ///< a very long or instruction-like alt, title, aria-label or description; kept out
  kAriaHidden,           ///< text hidden from screen readers only; kept IN the text
  kHiddenText,           ///< DOCX text that Word does not show (vanish, white, tiny); kept out
  kDeletedText,          ///< DOCX text that a tracked change deletes; kept out
};

/// Stable name, such as "invisible_characters". Never null.
[[nodiscard]] std::string_view finding_kind_name(FindingKind kind) noexcept;

/// One thing noticed: nothing is taken out of a text without one.
struct Finding {
  FindingKind kind = FindingKind::kInvisibleCharacters;
  ByteSpan source;  ///< from the first to the last of them, in the source (see the owner for which source that is)
  std::size_t count = 1;  ///< characters, or elements for the HTML kinds
  UntrustedText excerpt;  ///< the beginning of what is there, at most 400 bytes
  std::string note;       ///< why, in words; already safe to print
};

/// {"kind", "begin", "end", "count", "excerpt", "note"}: one JSON object, ASCII-safe for a terminal.
[[nodiscard]] std::string finding_json(const Finding& finding);

/// Gathers findings with a bound: beyond `max_per_kind` of a kind, the last one of that kind takes the rest in (its
/// span widens, its count grows, its note says so), so that a hostile document costs no memory and hides nothing.
class FindingCollector {
 public:
  explicit FindingCollector(std::size_t max_per_kind = 64) : max_per_kind_(max_per_kind) {}
  void add(Finding finding);
  [[nodiscard]] std::vector<Finding> take() &&;

 private:
  std::size_t max_per_kind_;
  std::vector<Finding> findings_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> last_;
};

inline constexpr std::size_t kMaxExcerptBytes = 400;

/// True where `text` reads like an order to a language model ("ignore previous instructions", "you are now"). A word
/// list, meant for notes and floods: neither complete nor proof.
[[nodiscard]] bool looks_like_instruction(std::string_view text);

}  // namespace casemate
