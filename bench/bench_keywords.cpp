// Times keyword extraction on one thread.
//
//   bench_keywords TEXTS.txt
//
// Prints {"load_ms", "tokens", "tokens_per_second"}: the time to read the tagger's weights, and texts (one a line) to
// keyword sets, the best of five runs each.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "casemate/text/keywords.h"

namespace {

template <typename Work>
double best_seconds(Work work) {
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: bench_keywords TEXTS.txt\n";
    return 2;
  }
  std::ifstream file(argv[1]);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(line);
  const double load = best_seconds([] { return casemate::KeywordExtractor::create().ok(); });
  const auto extractor = casemate::KeywordExtractor::create();
  if (!extractor) {
    std::cerr << extractor.error().message << '\n';
    return 3;
  }
  std::size_t tokens = 0;
  std::size_t keywords = 0;
  const double seconds = best_seconds([&] {
    tokens = keywords = 0;
    for (const std::string& text : texts) {
      const casemate::TaggedText tagged = (*extractor)->tag(text);
      tokens += tagged.tokens.size();
      keywords += casemate::KeywordExtractor::extract(text, tagged).keywords.size();
    }
  });
  std::cout << "{\"load_ms\": " << load * 1000 << ", \"tokens\": " << tokens << ", \"keywords\": " << keywords
            << ", \"tokens_per_second\": " << static_cast<double>(tokens) / seconds << "}\n";
  return 0;
}
