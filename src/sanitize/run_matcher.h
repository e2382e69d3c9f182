// Runs of letters that a stream has in common with known texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sanitize/skeleton.h"

namespace casemate::sanitize {

/// A text that is looked for: its letters, and which word each belongs to.
struct SoughtText {
  std::u32string letters;
  std::vector<std::uint32_t> word;      ///< of each letter
  std::vector<std::uint32_t> own_word;  ///< word of the passage for each word here (they differ where it is reversed)
  std::size_t passage = 0;              ///< number of the passage, or of the canary
  bool canary = false;
  std::string_view form;  ///< "plain", "reversed words", "reversed letters"
};

/// All that is looked for, indexed by short pieces.
class SoughtTexts {
 public:
  /// Letters after which a run is noticed.
  static constexpr std::size_t kPiece = 8;

  /// The passage as it is, with its words and with its letters reversed.
  void add_passage(std::string_view text, std::size_t number, const Skeleton& skeleton);
  void add_canary(std::string_view text, std::size_t number, const Skeleton& skeleton);

  [[nodiscard]] const std::vector<SoughtText>& texts() const noexcept { return texts_; }
  [[nodiscard]] const std::vector<std::size_t>& words_of_passages() const noexcept { return passage_words_; }
  struct Place {
    std::uint32_t text = 0;
    std::uint32_t end = 0;  ///< index behind the piece
  };
  /// Where the last kPiece letters of `recent` stand.
  [[nodiscard]] const std::vector<Place>& places(std::u32string_view recent) const;

 private:
  void add(SoughtText text);
  std::vector<SoughtText> texts_;
  std::vector<std::size_t> passage_words_;
  std::unordered_map<std::uint64_t, std::vector<Place>> index_;
};

/// A run that goes on.
struct RunningMatch {
  std::uint32_t text = 0;
  std::size_t begin = 0;  ///< letters [begin, end) of the text
  std::size_t end = 0;
  [[nodiscard]] std::size_t letters() const noexcept { return end - begin; }
};

class RunMatcher {
 public:
  explicit RunMatcher(const SoughtTexts& sought) : sought_(sought) {}
  void push(char32_t letter);
  void reset();
  [[nodiscard]] const std::vector<RunningMatch>& matches() const noexcept { return matches_; }
  /// First and number of the whole words of a match.
  struct Words {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  [[nodiscard]] Words words(const RunningMatch& match) const;
  /// Letters of the match beyond its first `count` whole words.
  [[nodiscard]] std::size_t letters_beyond(const RunningMatch& match, std::size_t count) const;

 private:
  const SoughtTexts& sought_;
  std::u32string recent_;
  std::vector<RunningMatch> matches_;
};

}  // namespace casemate::sanitize
