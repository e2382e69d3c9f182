#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace casemate {

/// Cuts text into the words of the full-text index: NFKC case folding (which also drops invisible characters), then
/// ICU's word boundaries, which segment Chinese, Japanese and Thai by dictionary. Runs without a letter or digit are
/// no words; words are cut to 128 bytes. Any bytes are accepted. Not thread-safe.
class WordSegmenter {
 public:
  /// Throws Failure where ICU's data are missing.
  WordSegmenter();
  ~WordSegmenter();
  /// Calls `word` for each word with its folded form and its place in the folded text, until it returns false.
  using Callback = std::function<bool(std::string_view word, std::size_t begin, std::size_t end)>;
  void segment(std::string_view text, const Callback& word);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace casemate
