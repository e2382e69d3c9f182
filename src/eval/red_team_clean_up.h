// Taking out what a red team planted.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "casemate/attack/rag_endpoint.h"
#include "casemate/core/progress.h"
#include "casemate/core/status.h"
#include "eval/red_team_journal.h"

namespace casemate {

/// What the journal says is planted goes, and leaves the journal only where the endpoint's replies show that it is
/// gone, or where nothing more can be done, which is told as progress and counted. Keeps references.
class RedTeamCleanUp {
 public:
  RedTeamCleanUp(RagEndpoint& endpoint, RedTeamJournal& journal, Progress& progress)
      : endpoint_(endpoint), journal_(journal), progress_(progress) {}

  /// Goes on behind documents that cannot be taken out, unless many in a row meet a system that does not answer. Jobs
  /// that may still add a document are waited for first. Error: the first one, with the document's id.
  [[nodiscard]] Status take_out(const std::stop_token& stop);

  [[nodiscard]] std::size_t removed() const { return removed_; }
  /// Documents that may still be there although the journal has forgotten them.
  [[nodiscard]] std::size_t unaccounted() const { return unaccounted_; }

 private:
  using Planted = RedTeamJournal::Planted;

  Status take_out_one(Planted each, const std::stop_token& stop);
  Status take_out_by_reset(const std::vector<Planted>& left, const std::stop_token& stop);
  Status wait_for_job(Planted& each, const std::stop_token& stop);
  Status take_out_without_job(const Planted& each, const Error& job, const std::stop_token& stop);
  Status settle_not_there(const Planted& each, const Error& error);
  Status settle_refused_by_jobs();
  Status note_removed(const Planted& each);
  Status give_up(const Planted& each, const char* why);

  RagEndpoint& endpoint_;
  RedTeamJournal& journal_;
  Progress& progress_;
  std::size_t removed_ = 0;
  std::size_t unaccounted_ = 0;
  bool was_any_removed_ = false;            ///< so the request asks at the right place
  std::vector<Planted> refused_by_jobs_{};  ///< not there although a job has ended well, until that is known
  Status refused_error_{};
};

}  // namespace casemate
