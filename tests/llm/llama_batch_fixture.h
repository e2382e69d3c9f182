// What tests of batches over the small model share.
#pragma once

#include <vector>

#include "llm/llm_fixture.h"

namespace casemate::test {

class LlamaBatchTest : public SmallModelTest {
 protected:
  static std::vector<TokenId> joined(std::vector<TokenId> a, const std::vector<TokenId>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  static std::vector<BatchSequence> sequences(const std::vector<std::vector<TokenId>>& suffixes) {
    std::vector<BatchSequence> out;
    for (const auto& suffix : suffixes) out.push_back({suffix, nullptr});
    return out;
  }
  static GenerateOptions greedy(int tokens) {
    GenerateOptions options;
    options.max_new_tokens = tokens;
    return options;
  }
};

}  // namespace casemate::test
