// What a red team planted and was answered, on disk before it counts.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/file_system.h"
#include "casemate/core/status.h"
#include "casemate/eval/red_team.h"

namespace casemate {

/// A file of JSON lines. What a call noted survives a kill and a power cut when it returns. At most the last line is
/// torn, which is then cut off. After an error nothing more is noted.
class RedTeamJournal {
 public:
  /// Reads what is there and opens the file for more. `plan` identifies the plan; answers of another one are forgotten.
  /// Error: Mismatch for another endpoint; InvalidInput with path and line; Io.
  [[nodiscard]] static Result<RedTeamJournal> open(FileSystem& files, const std::string& path, const std::string& url,
                                                   const std::string& plan);

  /// What may still be there.
  struct Planted {
    std::string ours;
    std::string theirs;         ///< the endpoint's id; empty where it did not answer
    std::string job;            ///< that may still add it; empty: none, or it has ended
    bool is_confirmed = false;  ///< the endpoint said that it is there
    bool was_by_job = false;    ///< it did so by a job, whose end does not say which documents it took
    bool may_be_gone = false;   ///< a removal was sent, and what it did is not known
  };
  [[nodiscard]] std::vector<Planted> planted() const;
  [[nodiscard]] const nlohmann::json* answer(std::string_view attack, std::string_view query) const;

  [[nodiscard]] Status planting(const std::string& id);  ///< before the request
  [[nodiscard]] Status planted_as(const std::string& id, const EndpointAddition& addition);
  [[nodiscard]] Status job_ended(const std::string& id, bool is_done);
  [[nodiscard]] Status removing(const std::string& id);  ///< before the request
  [[nodiscard]] Status kept(const std::string& id);      ///< that request did not take it away
  [[nodiscard]] Status removed(const std::string& id);
  [[nodiscard]] Status answered(const std::string& attack, const RedTeamOutcome& outcome);

 private:
  explicit RedTeamJournal(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}
  void take(const nlohmann::json& line, bool same_plan);
  Status note(const nlohmann::ordered_json& line);
  Status write(const nlohmann::ordered_json& line);

  std::unique_ptr<WritableFile> file_;
  Status failed_;
  std::map<std::string, Planted> planted_;  ///< by our id
  std::map<std::pair<std::string, std::string>, nlohmann::json> answers_;
};

/// The part of an outcome that the endpoint said: {answer, cut_short, poisoned}.
[[nodiscard]] RedTeamOutcome outcome_of(const nlohmann::json& answered);

}  // namespace casemate
