#include "question_sample.h"

#include "casemate/core/random.h"

namespace casemate::cli {

std::vector<SquadQuestion> question_sample(std::vector<SquadQuestion> questions, int count, std::uint64_t seed) {
  if (count <= 0 || static_cast<std::size_t>(count) >= questions.size()) return questions;
  RandomStream random(seed, "questions/sample");
  std::vector<SquadQuestion> out;
  std::size_t wanted = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < questions.size() && wanted > 0; ++i) {
    if (random.below(questions.size() - i) >= wanted) continue;
    out.push_back(std::move(questions[i]));
    --wanted;
  }
  return out;
}

}  // namespace casemate::cli
