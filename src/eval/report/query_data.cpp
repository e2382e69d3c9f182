#include "eval/report/query_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "casemate/attack/attack.h"
#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "casemate/eval/experiment.h"
#include "eval/json_lines.h"
#include "eval/report/run_log.h"
#include "eval/report/script_json.h"

namespace casemate {
namespace {

using Json = nlohmann::json;

std::vector<std::string> texts_of(const Json& object, const char* field) {
  std::vector<std::string> out;
  const auto found = object.find(field);
  if (found == object.end() || !found->is_array()) return out;
  for (const Json& each : *found) {
    if (each.is_string()) out.push_back(each.get<std::string>());
  }
  return out;
}

std::string place_key(const std::string& id, std::size_t attack) {
  // Attacks number their documents alike, so that a planted one is known by its attack too.
  return id.starts_with(kAttackIdPrefix) ? std::to_string(attack) + "\n" + id : id;
}

std::string cut(const std::string& text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  return std::string(utf8_prefix(text, bytes)) + "…";
}

/// A missing file is no error: the page then shows ids.
template <typename Take>
Status each_line_if_there(const std::string& path, const Take& take) {
  Status read = each_json_line(path, [&](const Json& line, std::size_t) -> std::string {
    take(line);
    return {};
  });
  return !read && read.error().code == ErrorCode::kNotFound ? Status() : read;
}

/// Few digits: pages show three.
Json short_number(float value) {
  if (std::isnan(value)) return nullptr;
  return std::round(static_cast<double>(value) * 1000) / 1000;
}

}  // namespace

std::uint32_t QueryData::passage_of(const std::string& id, std::size_t attack) {
  const std::string key = place_key(id, attack);
  const auto found = passage_places_.find(key);
  if (found != passage_places_.end()) return found->second;
  const auto place = static_cast<std::uint32_t>(passages_.size());
  passage_places_.emplace(key, place);
  passages_.push_back({id, "", "", id.starts_with(kAttackIdPrefix), nullptr});
  return place;
}

Status QueryData::read_texts(const RunRecord& run) {
  const std::string folder = join_path(run.folder, "texts");
  Status read = each_line_if_there(join_path(folder, "passages.jsonl"), [&](const Json& line) {
    Passage& passage = passages_[passage_of(text_of(line, "id"), 0)];
    passage.title = text_of(line, "title");
    passage.text = text_of(line, "text");
  });
  if (!read) return read;
  return each_line_if_there(join_path(folder, "questions.jsonl"), [&](const Json& line) {
    Question question{
        text_of(line, "question"), text_of(line, "wrong_answer"), texts_of(line, "answers"), text_of(line, "gold"), {}};
    for (const std::string& id : texts_of(line, "passages")) question.passages.push_back(passage_of(id, 0));
    questions_.insert_or_assign(text_of(line, "query"), std::move(question));
  });
}

Status QueryData::read_planted(const RunRecord& run, std::size_t attack) {
  const Condition named{run.attacks[attack], "", attack, 0};
  const std::string path = join_path(run.folder, "attacks/" + named.file_name() + ".jsonl");
  return each_line_if_there(path, [&](const Json& line) {
    const std::string id = text_of(line, "id");
    if (!id.starts_with(kAttackIdPrefix)) return;
    Passage& passage = passages_[passage_of(id, attack)];
    passage.title = text_of(line, "title");
    passage.text = text_of(line, "text");
    passage.changed = line.value("changed", Json());
  });
}

Status QueryData::read_log(const RunRecord& run, const RunCondition& condition, std::size_t attack) {
  std::map<std::size_t, Outcome>& outcomes = outcomes_.emplace_back();
  if (condition.log.empty()) return {};
  return each_line_if_there(join_path(run.folder, condition.log), [&](const Json& line) {
    const std::string query = text_of(line, "query");
    const auto [place, fresh] = places_.emplace(query, order_.size());
    if (fresh) order_.push_back(query);
    const RunLogLine values{query, line};
    Outcome outcome;
    for (const std::string& metric : run.metrics) {
      const auto value = values.value(metric);
      outcome.metrics.push_back(value ? static_cast<float>(*value) : std::numeric_limits<float>::quiet_NaN());
    }
    outcome.rest = line;
    for (const char* field : {"query", "metrics", "hits", "own_poison", "gold"}) outcome.rest.erase(field);
    const auto hits = line.find("hits");
    for (const Json& hit : hits != line.end() && hits->is_array() ? *hits : Json::array()) {
      if (!hit.is_array() || hit.size() != 2 || !hit[0].is_string() || !hit[1].is_number()) continue;
      outcome.hits.push_back(passage_of(hit[0].get<std::string>(), attack));
      outcome.scores.push_back(hit[1].get<float>());
    }
    const std::string gold = text_of(line, "gold");
    if (!gold.empty() && questions_[query].gold.empty()) questions_[query].gold = gold;
    outcomes.insert_or_assign(place->second, std::move(outcome));
  });
}

Result<QueryData> QueryData::read(const RunRecord& run) {
  QueryData out;
  out.run_ = &run;
  if (Status read = out.read_texts(run); !read) return read.error();
  for (std::size_t a = 0; a < run.attacks.size(); ++a) {
    if (Status read = out.read_planted(run, a); !read) return read.error();
  }
  for (const RunCondition& condition : run.conditions) {
    const auto attack = std::find(run.attacks.begin(), run.attacks.end(), condition.attack) - run.attacks.begin();
    if (Status read = out.read_log(run, condition, static_cast<std::size_t>(attack)); !read) return read.error();
  }
  return out;
}

std::vector<std::size_t> QueryData::chosen(std::size_t count) const {
  std::vector<std::size_t> all(order_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (all.size() <= count) return all;
  std::vector<bool> differs(all.size(), false);
  for (const std::size_t query : all) {
    const std::vector<float>* first = nullptr;
    for (const auto& outcomes : outcomes_) {
      const auto found = outcomes.find(query);
      if (found == outcomes.end()) continue;
      if (first == nullptr) first = &found->second.metrics;
      differs[query] = differs[query] || found->second.metrics != *first;
    }
  }
  std::stable_partition(all.begin(), all.end(), [&differs](std::size_t i) { return differs[i]; });
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

std::string QueryData::json(const QueryDataLimits& limits) const {
  std::vector<int> new_place(passages_.size(), -1);
  Json passages = Json::array();
  const auto shown = [&](std::size_t place) {
    if (new_place[place] < 0) {
      new_place[place] = static_cast<int>(passages.size());
      const Passage& passage = passages_[place];
      Json entry = {passage.id, passage.title, cut(passage.text, limits.text_bytes), passage.planted ? 1 : 0};
      if (passage.changed.is_array() && !passage.changed.empty()) entry.push_back(passage.changed);
      passages.push_back(std::move(entry));
    }
    return new_place[place];
  };
  const std::vector<std::size_t> queries = chosen(limits.queries);
  Json questions = Json::array();
  for (const std::size_t query : queries) {
    Json entry = {{"id", order_[query]}};
    const auto found = questions_.find(order_[query]);
    if (found != questions_.end()) {
      const Question& question = found->second;
      if (!question.text.empty()) entry["q"] = question.text;
      if (!question.answers.empty()) entry["a"] = question.answers;
      if (!question.wrong.empty()) entry["w"] = question.wrong;
      const auto gold = passage_places_.find(question.gold);
      if (gold != passage_places_.end()) entry["g"] = shown(gold->second);
      for (std::size_t i = 0; i < std::min(limits.depth, question.passages.size()); ++i)
        entry["p"].push_back(shown(question.passages[i]));
    }
    questions.push_back(std::move(entry));
  }
  Json conditions = Json::array();
  const auto place = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  for (std::size_t c = 0; c < outcomes_.size(); ++c) {
    const RunCondition& condition = run_->conditions[c];
    Json lines = Json::array();
    for (const std::size_t query : queries) {
      const auto found = outcomes_[c].find(query);
      if (found == outcomes_[c].end()) {
        lines.push_back(nullptr);
        continue;
      }
      const Outcome& outcome = found->second;
      Json metrics = Json::array();
      for (const float value : outcome.metrics) metrics.push_back(short_number(value));
      Json hits = Json::array();
      Json scores = Json::array();
      for (std::size_t i = 0; i < std::min(limits.depth, outcome.hits.size()); ++i) {
        hits.push_back(shown(outcome.hits[i]));
        scores.push_back(short_number(outcome.scores[i]));
      }
      Json line = {std::move(metrics), std::move(hits), std::move(scores)};
      if (!outcome.rest.empty()) line.push_back(outcome.rest);
      lines.push_back(std::move(line));
    }
    conditions.push_back({{"a", place(run_->attacks, condition.attack)},
                          {"d", place(run_->defences, condition.defence)},
                          {"lines", std::move(lines)}});
  }
  return script_json({{"kind", run_->kind},
                      {"metrics", run_->metrics},
                      {"attacks", run_->attacks},
                      {"defences", run_->defences},
                      {"of", order_.size()},
                      {"queries", std::move(questions)},
                      {"passages", std::move(passages)},
                      {"conditions", std::move(conditions)}});
}

}  // namespace casemate
