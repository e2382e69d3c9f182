#include "sanitize/shared_words.h"

#include <algorithm>
#include <set>

#include "casemate/text/segmentation.h"
#include "casemate/text/shingles.h"

namespace casemate::sanitize {

std::vector<FormedWord> formed_words(std::string_view text) {
  std::vector<FormedWord> out;
  for (const ByteSpan& span : word_spans(text)) {
    std::string form = comparison_text(text.substr(span.begin, span.size()));
    if (!form.empty()) out.push_back({span, std::move(form)});
  }
  return out;
}

SharedWords::SharedWords(std::span<const std::string> sources) {
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (FormedWord& word : formed_words(sources[s])) {
      places_[word.form].push_back(words_.size());
      words_.push_back(std::move(word.form));
      source_.push_back(s);
    }
    words_.emplace_back();
    source_.push_back(s);
  }
}

SharedWords::Run SharedWords::longest_run(std::span<const FormedWord> words) const {
  Run best;
  std::vector<std::size_t> before(words_.size() + 1, 0);  // run that ends before each place
  std::vector<std::size_t> here;
  std::vector<std::size_t> last;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const auto found = places_.find(words[w].form);
    here.clear();
    std::vector<std::size_t> lengths;
    if (found != places_.end()) {
      for (const std::size_t place : found->second) {
        const std::size_t length = before[place] + 1;
        here.push_back(place);
        lengths.push_back(length);
        if (length > best.words) best = {w + 1 - length, length};
      }
    }
    for (const std::size_t place : last) before[place + 1] = 0;
    for (std::size_t i = 0; i < here.size(); ++i) before[here[i] + 1] = lengths[i];
    last = here;
  }
  return best;
}

std::size_t SharedWords::nearest(std::span<const FormedWord> words) const {
  std::map<std::size_t, std::size_t> counts;
  for (const FormedWord& word : words) {
    const auto found = places_.find(word.form);
    if (found == places_.end()) continue;
    std::set<std::size_t> sources;
    for (const std::size_t place : found->second) sources.insert(source_[place]);
    for (const std::size_t source : sources) ++counts[source];
  }
  std::size_t best = 0;
  for (const auto& [source, count] : counts) {
    if (count > counts[best]) best = source;
  }
  return best;
}

}  // namespace casemate::sanitize
