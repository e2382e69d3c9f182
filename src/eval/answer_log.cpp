#include "eval/answer_log.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "casemate/core/file_system.h"
#include "casemate/core/utf8.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

template <typename T>
T value_of(const json& line, const char* field, T missing) {
  const auto found = line.find(field);
  if (found == line.end()) return missing;
  if constexpr (std::is_same_v<T, bool>)
    return found->is_boolean() ? found->get<bool>() : missing;
  else
    return found->is_number() ? found->get<T>() : missing;
}

}  // namespace

std::string log_line(const AnswerOutcome& outcome) {
  ordered_json line = {{"query", to_valid_utf8(outcome.query)}};
  if (!outcome.error.empty()) {
    line["error"] = to_valid_utf8(outcome.error);
    return line.dump();
  }
  line["answer"] = to_valid_utf8(outcome.answer);
  line["right"] = outcome.right;
  line["valid"] = outcome.valid;
  line["declined"] = outcome.declined;
  if (outcome.attack_success) line["attack_success"] = *outcome.attack_success;
  if (outcome.score) line["score"] = *outcome.score;
  line["generated_tokens"] = outcome.generated_tokens;
  if (!outcome.certificates.empty()) {
    line["certificates"] = ordered_json::array();
    for (const LoggedCertificate& each : outcome.certificates) {
      ordered_json entry = {{"budget", each.budget}, {"certified", each.certified}, {"tau", each.tau}};
      if (!each.reason.empty()) entry["reason"] = to_valid_utf8(each.reason);
      line["certificates"].push_back(std::move(entry));
    }
  }
  if (outcome.live_k_prime)
    line["live"] = {{"k_prime", *outcome.live_k_prime}, {"limited_by", to_valid_utf8(outcome.live_limited_by)}};
  return line.dump();
}

Result<std::vector<AnswerOutcome>> read_answer_log(const std::string& path) {
  std::vector<AnswerOutcome> out;
  const Status read = each_json_line(path, [&](const json& line, std::size_t) -> std::string {
    AnswerOutcome outcome;
    outcome.query = text_of(line, "query");
    if (outcome.query.empty()) return "is no line of an answer log";
    outcome.error = text_of(line, "error");
    outcome.answer = text_of(line, "answer");
    outcome.right = value_of(line, "right", false);
    outcome.valid = value_of(line, "valid", false);
    outcome.declined = value_of(line, "declined", false);
    if (line.contains("attack_success")) outcome.attack_success = value_of(line, "attack_success", false);
    if (line.contains("score")) outcome.score = value_of(line, "score", 0.0);
    outcome.generated_tokens = value_of<std::uint64_t>(line, "generated_tokens", 0);
    for (const json& entry : line.value("certificates", json::array())) {
      if (!entry.is_object()) return "has a certificate that is no object";
      outcome.certificates.push_back({text_of(entry, "budget"), value_of(entry, "certified", false),
                                      value_of(entry, "tau", 0.0), text_of(entry, "reason")});
    }
    if (const auto live = line.find("live"); live != line.end() && live->is_object()) {
      outcome.live_k_prime = value_of<std::int64_t>(*live, "k_prime", 0);
      outcome.live_limited_by = text_of(*live, "limited_by");
    }
    out.push_back(std::move(outcome));
    return {};
  });
  if (!read) return read.error();
  return out;
}

std::string cost_line(const std::string& query, const AnswerCost& cost) {
  return ordered_json{{"query", to_valid_utf8(query)},
                      {"seconds", cost.seconds},
                      {"decoded_tokens", cost.decoded_tokens},
                      {"reused_tokens", cost.reused_tokens}}
      .dump();
}

std::vector<AnswerCost> read_costs(const std::string& path) {
  std::vector<AnswerCost> out;
  const auto content = read_file(path);
  if (!content) return out;
  std::istringstream lines(*content);
  for (std::string line; std::getline(lines, line);) {
    const auto parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object()) continue;
    out.push_back({value_of(parsed, "seconds", 0.0), value_of(parsed, "decoded_tokens", 0.0),
                   value_of(parsed, "reused_tokens", 0.0)});
  }
  return out;
}

}  // namespace casemate
