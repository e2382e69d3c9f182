#include "eval/red_team_journal.h"

#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// What follows the last line end was torn by a kill.
Status cut_torn_line(FileSystem& files, const std::string& path) {
  const auto content = read_file(path, UINT64_C(4) << 30U);
  if (!content) return content.error().code == ErrorCode::kNotFound ? Status() : Status(content.error());
  const std::size_t end = content->rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole == content->size()) return {};
  return write_file_atomically(files, path, std::string_view(*content).substr(0, whole));
}

}  // namespace

Result<RedTeamJournal> RedTeamJournal::open(FileSystem& files, const std::string& path, const std::string& url,
                                            const std::string& plan) {
  if (Status cut = cut_torn_line(files, path); !cut) return cut.error();
  std::vector<json> lines;
  const Status read = each_json_line(path, [&lines](const json& line, std::size_t) {
    lines.push_back(line);
    return lines.size() == 1 && !line.contains("redteam") ? "is no journal of casemate redteam" : "";
  });
  if (!read && read.error().code != ErrorCode::kNotFound) return read.error();
  if (!lines.empty() && text_of(lines.front(), "url") != url) {
    return Error{ErrorCode::kMismatch, path + " is about " + UntrustedText(text_of(lines.front(), "url")).for_log() +
                                           ": finish or clean up there first, or name another --out"};
  }
  auto file = files.append_to(path);
  if (!file) return file.error();
  RedTeamJournal out(*std::move(file));
  // Answers count behind the last header that names this plan.
  bool same_plan = false;
  for (const json& line : lines) {
    if (line.contains("redteam")) {
      if (!same_plan || text_of(line, "plan") != plan) out.answers_.clear();
      same_plan = text_of(line, "plan") == plan;
    }
    out.take(line, same_plan);
  }
  if (!same_plan) {
    if (Status written = out.write({{"redteam", 1}, {"url", url}, {"plan", plan}}); !written) return written.error();
  }
  // A file that has no name after a power cut tells nothing.
  if (Status named = files.sync_directory(parent_path(path)); !named) return named.error();
  return out;
}

void RedTeamJournal::take(const json& line, bool same_plan) {
  if (const std::string id = text_of(line, "planting"); !id.empty()) planted_[id].ours = id;
  if (const std::string id = text_of(line, "planted"); !id.empty()) {
    const std::string job = text_of(line, "job");
    planted_[id] = {id, text_of(line, "as"), job, job.empty(), !job.empty(), false};
  }
  if (const auto found = planted_.find(text_of(line, "ended")); found != planted_.end()) {
    const auto done = line.find("done");
    found->second.job.clear();
    found->second.is_confirmed = done != line.end() && done->is_boolean() && done->get<bool>();
  }
  if (const auto found = planted_.find(text_of(line, "removing")); found != planted_.end())
    found->second.may_be_gone = true;
  if (const auto found = planted_.find(text_of(line, "kept")); found != planted_.end())
    found->second.may_be_gone = false;
  if (const std::string id = text_of(line, "removed"); !id.empty()) planted_.erase(id);
  if (same_plan && line.contains("answer"))
    answers_.insert_or_assign({text_of(line, "attack"), text_of(line, "query")}, line);
}

std::vector<RedTeamJournal::Planted> RedTeamJournal::planted() const {
  std::vector<Planted> out;
  for (const auto& [id, each] : planted_) out.push_back(each);
  return out;
}

const json* RedTeamJournal::answer(std::string_view attack, std::string_view query) const {
  const auto found = answers_.find({std::string(attack), std::string(query)});
  return found == answers_.end() ? nullptr : &found->second;
}

Status RedTeamJournal::write(const ordered_json& line) {
  // Behind a line that was written in part, another one would make both unreadable; and of two lines that are not on
  // the disk yet, a power cut may take the first alone.
  if (failed_.ok()) failed_ = file_->append(line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n");
  if (failed_.ok()) failed_ = file_->sync();
  return failed_;
}

/// What is written is taken as it will be when it is read, so that a run and the one after it agree.
Status RedTeamJournal::note(const ordered_json& line) {
  take(json(line), false);
  return write(line);
}

Status RedTeamJournal::planting(const std::string& id) { return note({{"planting", id}}); }

Status RedTeamJournal::planted_as(const std::string& id, const EndpointAddition& addition) {
  ordered_json line = {{"planted", id}, {"as", addition.id}};
  if (!addition.job.empty()) line["job"] = addition.job;
  return note(line);
}

Status RedTeamJournal::job_ended(const std::string& id, bool is_done) {
  return note({{"ended", id}, {"done", is_done}});
}

Status RedTeamJournal::removing(const std::string& id) { return note({{"removing", id}}); }

Status RedTeamJournal::kept(const std::string& id) { return note({{"kept", id}}); }

Status RedTeamJournal::removed(const std::string& id) { return note({{"removed", id}}); }

Status RedTeamJournal::answered(const std::string& attack, const RedTeamOutcome& outcome) {
  ordered_json line = {{"attack", attack},
                       {"query", outcome.query},
                       {"answer", outcome.answer.for_json()},
                       {"cut_short", outcome.cut_short},
                       {"poisoned", nullptr}};
  if (outcome.poisoned) line["poisoned"] = *outcome.poisoned;
  return write(line);
}

RedTeamOutcome outcome_of(const json& answered) {
  RedTeamOutcome out;
  out.query = text_of(answered, "query");
  out.answer = UntrustedText(text_of(answered, "answer"));
  const auto is_true = [&answered](const char* field) {
    const auto found = answered.find(field);
    return found != answered.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
  };
  out.cut_short = is_true("cut_short").value_or(false);
  out.poisoned = is_true("poisoned");
  return out;
}

}  // namespace casemate
