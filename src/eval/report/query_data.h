// eval/report/query_data.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/eval/run_record.h"

namespace casemate {

/// How much of each query a page shows.
struct QueryDataLimits {
  std::size_t queries = 1000;
  std::size_t text_bytes = 700;  ///< of a passage
  std::size_t depth = 10;        ///< passages of a ranking
};

/// What the logs of a run say about single queries, with questions and passages from its texts/ and attacks/. A run
/// without texts, or with some of its logs gone, shows what there is.
class QueryData {
 public:
  /// Error: InvalidInput with path and line.
  [[nodiscard]] static Result<QueryData> read(const RunRecord& run);

  [[nodiscard]] std::size_t queries() const { return order_.size(); }
  /// One JSON object for the page's script (report/page.js says how it reads it), safe inside a script element. Queries
  /// on which conditions differ come first where not all fit.
  [[nodiscard]] std::string json(const QueryDataLimits& limits) const;

 private:
  struct Passage {
    std::string id;
    std::string title;
    std::string text;
    bool planted = false;
    nlohmann::json changed;  ///< [[begin, end]] in characters
  };
  struct Question {
    std::string text;
    std::string wrong;
    std::vector<std::string> answers;
    std::string gold;
    std::vector<std::size_t> passages;
  };
  struct Outcome {
    std::vector<float> metrics;  ///< NaN where there is none
    std::vector<std::uint32_t> hits;
    std::vector<float> scores;
    nlohmann::json rest;  ///< every other field of the line
  };

  Status read_texts(const RunRecord& run);
  Status read_planted(const RunRecord& run, std::size_t attack);
  Status read_log(const RunRecord& run, const RunCondition& condition, std::size_t attack);
  std::uint32_t passage_of(const std::string& id, std::size_t attack);
  [[nodiscard]] std::vector<std::size_t> chosen(std::size_t count) const;

  const RunRecord* run_ = nullptr;
  std::vector<Passage> passages_;
  std::map<std::string, std::uint32_t, std::less<>> passage_places_;
  std::map<std::string, Question, std::less<>> questions_;
  std::vector<std::string> order_;  ///< queries as the logs have them
  std::map<std::string, std::size_t, std::less<>> places_;
  std::vector<std::map<std::size_t, Outcome>> outcomes_;  ///< by condition, by query
};

}  // namespace casemate
