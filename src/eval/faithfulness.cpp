#include "casemate/eval/faithfulness.h"

#include <algorithm>
#include <set>
#include <string>

#include "casemate/text/answer_match.h"
#include "casemate/text/stop_words.h"

namespace casemate {

std::optional<double> faithfulness(std::string_view answer, std::span<const UntrustedText> passages) {
  if (is_abstention(answer)) return std::nullopt;
  std::set<std::string> content;
  for (std::string& word : answer_words(answer)) {
    if (!is_stop_word(word)) content.insert(std::move(word));
  }
  if (content.empty()) return std::nullopt;
  double best = 0;
  for (const UntrustedText& passage : passages) {
    if (contains_answer(passage.bytes(), answer)) return 1;
    const std::vector<std::string> words = answer_words(passage.bytes());
    const std::set<std::string> there(words.begin(), words.end());
    const auto shared = std::count_if(content.begin(), content.end(),
                                      [&there](const std::string& word) { return there.contains(word); });
    best = std::max(best, static_cast<double>(shared) / static_cast<double>(content.size()));
  }
  return best;
}

}  // namespace casemate
