// casemate/eval/data_set.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/hash.h"
#include "casemate/core/status.h"

namespace casemate {

/// A corpus with questions about it.
struct DataSet {
  std::string path;                     ///< what to index
  std::vector<CorpusPassage> passages;  ///< as they are indexed, in order
  std::vector<AttackTarget> questions;  ///< in order; ids differ and each gold document is in the corpus
  std::size_t broken = 0;               ///< passages and questions that could not be read
  std::size_t repeated = 0;             ///< questions whose id stood before
  std::size_t without_gold = 0;         ///< questions whose passage is not in the corpus
  Digest digest{};                      ///< over all of the above
};

/// `format` "squad": SQuAD 1.1 JSON, or a zip file with one. What is broken is left out and counted. Error:
/// InvalidOption for another format; InvalidInput where nothing is left; what the reader says.
[[nodiscard]] Result<DataSet> load_data_set(std::string_view format, const std::string& path);

/// Indices of `count` questions drawn under the seed, ascending; all where `count` is 0 or not below `questions`. A
/// smaller sample is part of a larger one.
[[nodiscard]] std::vector<std::size_t> sample_questions(std::size_t questions, std::size_t count, std::uint64_t seed);

}  // namespace casemate
