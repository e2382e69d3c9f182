#include "eval/red_team_clean_up.h"

#include <utility>

namespace casemate {
namespace {

using End = EndpointRemoval::End;

/// Each costs its retries and waits; what meets so many meets the rest too.
constexpr int kMostUnansweredInARow = 10;

bool is_unanswered(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

const std::string& id_of(const RedTeamJournal::Planted& each) { return each.theirs.empty() ? each.ours : each.theirs; }

}  // namespace

Status RedTeamCleanUp::take_out(const std::stop_token& stop) {
  const auto left = journal_.planted();
  if (left.empty()) return {};
  if (!endpoint_.removes_one()) return take_out_by_reset(left, stop);
  Status first;
  int unanswered = 0;
  for (const Planted& each : left) {
    const Status gone = take_out_one(each, stop);
    if (first.ok() && !gone) first = gone.error().in(each.ours);
    if (!gone && gone.error().code == ErrorCode::kCancelled) break;
    unanswered = !gone && is_unanswered(gone.error()) ? unanswered + 1 : 0;
    if (unanswered == kMostUnansweredInARow) break;
  }
  const Status refused = settle_refused_by_jobs();
  return first.ok() ? refused : first;
}

Status RedTeamCleanUp::take_out_one(Planted each, const std::stop_token& stop) {
  // A reset would take away more than was planted.
  if (each.theirs.empty() && endpoint_.chooses_ids())
    return give_up(each, "was sent, but no reply said under which id it was added");
  if (Status waited = wait_for_job(each, stop); !waited) {
    if (waited.error().code != ErrorCode::kNotFound) return waited;
    return take_out_without_job(each, waited.error(), stop);
  }
  if (Status told = journal_.removing(each.ours); !told) return told;
  const EndpointRemoval removal = endpoint_.remove(id_of(each), stop);
  switch (removal.end) {
    case End::kRemoved:
      was_any_removed_ = true;
      return note_removed(each);
    case End::kNotThere:
      return settle_not_there(each, removal.error);
    case End::kFailed:
      if (!each.may_be_gone) {
        if (Status told = journal_.kept(each.ours); !told) return told;
      }
      return removal.error;
    case End::kUnknown:
      return removal.error;
  }
  return removal.error;
}

/// A document whose removal comes before the job that adds it stays, so the job's end comes first.
Status RedTeamCleanUp::wait_for_job(Planted& each, const std::stop_token& stop) {
  if (each.job.empty()) return {};
  const auto done = endpoint_.wait_for(each.job, stop);
  if (!done) return done.error();
  each.job.clear();
  each.is_confirmed = *done;
  return journal_.job_ended(each.ours, *done);
}

/// The system forgot the job, or is asked for it at the wrong place. That it has ended shows only where the document
/// was there, and is no longer when it is taken away once more.
Status RedTeamCleanUp::take_out_without_job(const Planted& each, const Error& job, const std::stop_token& stop) {
  if (endpoint_.remove(id_of(each), stop).end == End::kRemoved) {
    was_any_removed_ = true;
    if (endpoint_.remove(id_of(each), stop).end == End::kNotThere) return note_removed(each);
  }
  return Error{job.code, job.message + "; so the job may still add the document. Look for it by hand; where it is " +
                             "certain to be gone, the journal can go too"};
}

Status RedTeamCleanUp::settle_not_there(const Planted& each, const Error& error) {
  if (each.may_be_gone) return note_removed(each);
  if (!each.is_confirmed) {
    const bool may_come = each.theirs.empty() && endpoint_.stores_by_jobs();
    return may_come ? give_up(each, "was sent, but no reply named the job that adds it") : note_removed(each);
  }
  if (Status told = journal_.kept(each.ours); !told) return told;
  const Error says{error.code, error.message + ", but it was added; is the path of delete right?"};
  if (!each.was_by_job) return says;
  if (refused_by_jobs_.empty()) refused_error_ = says.in(each.ours);
  refused_by_jobs_.push_back(each);
  return {};
}

/// A job can end well without having taken every document. Removals that worked show that the request is right.
Status RedTeamCleanUp::settle_refused_by_jobs() {
  const auto refused = std::exchange(refused_by_jobs_, {});
  if (refused.empty()) return {};
  if (!was_any_removed_) return refused_error_;
  for (const Planted& each : refused) {
    progress_.note(each.ours + ": the system's job ended well, but had not added it");
    if (Status told = note_removed(each); !told) return told;
  }
  return {};
}

Status RedTeamCleanUp::take_out_by_reset(const std::vector<Planted>& left, const std::stop_token& stop) {
  Status first;
  std::vector<Planted> ended;
  for (Planted each : left) {
    const Status waited = wait_for_job(each, stop);
    if (waited) ended.push_back(each);
    if (first.ok() && !waited) first = waited.error().in(each.ours);
    if (!waited && (is_unanswered(waited.error()) || waited.error().code == ErrorCode::kCancelled)) break;
  }
  if (Status reset = endpoint_.reset(stop); !reset) return reset;
  for (const Planted& each : ended) {
    const bool may_come = each.theirs.empty() && endpoint_.stores_by_jobs();
    Status told = may_come ? give_up(each, "was sent, but no reply named the job that adds it") : note_removed(each);
    if (!told) return told;
  }
  return first;
}

Status RedTeamCleanUp::note_removed(const Planted& each) {
  ++removed_;
  return journal_.removed(each.ours);
}

Status RedTeamCleanUp::give_up(const Planted& each, const char* why) {
  ++unaccounted_;
  progress_.note(each.ours + " " + why + ": it may still be there");
  return journal_.removed(each.ours);
}

}  // namespace casemate
