// Texts of the benchmark programs: made up, and never twice the same.
#pragma once

#include <string>
#include <vector>

#include "casemate/core/random.h"

/// A passage of some 130 tokens. `fact` (may be empty) stands in the middle, so that what follows it is the mean case.
inline std::string made_up_passage(casemate::RandomStream& random, const std::string& fact) {
  static const std::vector<std::string> sentences = {
      "The fishermen of the northern quay mend their nets in the long winter evenings.",
      "A market is held on the square behind the customs house every second Thursday.",
      "Storms from the west have moved the sandbank, and pilots had to learn the channel again.",
      "The railway reached the town late, when most of the trade had already gone elsewhere.",
      "Visitors like the small museum, where models of herring boats hang from the ceiling.",
      "The old chronicle speaks of a fire that spared only the chapel and three houses.",
      "Children learn to sail in the inner basin, which is shallow and out of the wind.",
      "A bronze bell from a wrecked merchantman stands in front of the town hall."};
  std::string text = "Note " + std::to_string(random.below(1'000'000)) + ". ";
  for (int s = 0; s < 6; ++s) {
    if (s == 3 && !fact.empty()) text += fact + " ";
    text += sentences[random.below(sentences.size())] + " ";
  }
  return text;
}
