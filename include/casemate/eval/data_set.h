// casemate/eval/data_set.h
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/attack/attack.h"
#include "casemate/core/hash.h"
#include "casemate/core/status.h"
#include "casemate/eval/ranking_metrics.h"

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
  /// Answering documents of each question by grade, for data with several a question; empty where `gold_document` is
  /// all that there is.
  std::vector<Judgements> judgements{};
  bool has_gold = true;  ///< false: nothing says which passage answers, so that `gold_document` is empty throughout
  bool index_passages = false;          ///< `path` is no corpus by itself: `passages` are to be indexed
  std::vector<std::string> problems{};  ///< the first 100 of what was left out, with file and place; safe to print
  std::size_t stray_judgements = 0;     ///< judgements of a query or document that is not there: ignored
};

/// One format that data sets come in.
struct DataFormat {
  std::string_view name;  ///< as experiments write it
  std::string_view what;
  bool passages = true;   ///< has a corpus; else one must be named beside it
  bool questions = true;  ///< has questions; else it serves as a corpus
};
/// Every format, in order of name (docs/evaluation.md).
[[nodiscard]] std::span<const DataFormat> data_formats() noexcept;
/// Error: InvalidOption, naming the nearest one.
[[nodiscard]] Result<DataFormat> find_data_format(std::string_view name);

/// Where a data set lies: files or folders as its format says. A corpus of its own takes the place of the format's.
struct DataSource {
  std::string format = "squad";
  std::string path;
  std::string corpus_format;  ///< empty: the corpus is that of `format`
  std::string corpus_path;
};

/// `format` "squad": SQuAD 1.1 JSON, or a zip file with one; the others as `data_formats` says. What is broken (no
/// text, no id, an id that stood before, fields of another type, invalid UTF-8 in a line) is left out, counted and
/// named. Error: InvalidOption for another format, or a corpus that is needed and not named; InvalidInput where nothing
/// is left, where a file does not parse as a whole, or for judgements that do not; what the reader says.
[[nodiscard]] Result<DataSet> load_data_set(std::string_view format, const std::string& path);
[[nodiscard]] Result<DataSet> load_data_set(const DataSource& source);

/// Indices of `count` questions drawn under the seed, ascending; all where `count` is 0 or not below `questions`. A
/// smaller sample is part of a larger one.
[[nodiscard]] std::vector<std::size_t> sample_questions(std::size_t questions, std::size_t count, std::uint64_t seed);

/// Leaves at most `count` passages: all that answer `asked`, however many these are, and others drawn under the seed.
/// Questions that have lost an answering passage go with it. The digest changes.
void shrink_corpus(DataSet& data, std::span<const std::string> asked, std::size_t count, std::uint64_t seed);

}  // namespace casemate
