// Runs of words that a text has in common with others, case and punctuation apart.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/text/offset_map.h"

namespace casemate::sanitize {

struct FormedWord {
  ByteSpan span;
  std::string form;  ///< in comparison form
};
[[nodiscard]] std::vector<FormedWord> formed_words(std::string_view text);

class SharedWords {
 public:
  explicit SharedWords(std::span<const std::string> sources);

  struct Run {
    std::size_t first = 0;  ///< word
    std::size_t words = 0;
  };
  /// The longest run of `words` in one of the sources; the first of several.
  [[nodiscard]] Run longest_run(std::span<const FormedWord> words) const;
  /// The source that has most of the words; 0 where there is none.
  [[nodiscard]] std::size_t nearest(std::span<const FormedWord> words) const;

 private:
  std::vector<std::string> words_;   ///< of all sources, with an empty one between them
  std::vector<std::size_t> source_;  ///< of each
  std::map<std::string, std::vector<std::size_t>, std::less<>> places_;
};

}  // namespace casemate::sanitize
