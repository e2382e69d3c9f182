// Questions whose records hold their own passages: a form of ours, an object a line, and MuSiQue.
#include <algorithm>

#include "attack/answer_target.h"
#include "casemate/attack/attack.h"
#include "casemate/core/file_system.h"
#include "eval/data/answer_sources.h"
#include "eval/data/data_builder.h"

namespace casemate {
namespace {

using nlohmann::json;

/// A fact is a text, or a list of its wordings.
std::vector<std::vector<UntrustedText>> read_facts(const json& record, std::string& problem) {
  std::vector<std::vector<UntrustedText>> out;
  const auto found = record.find("facts");
  if (found == record.end() || found->is_null()) return out;
  if (!found->is_array()) {
    problem = "\"facts\" must be a list of texts, or of lists of wordings";
    return out;
  }
  for (const json& each : *found) {
    const json fact = {{"facts", each}};
    std::vector<UntrustedText> wordings = text_list(fact, "facts", problem);
    if (!problem.empty()) return {};
    if (!wordings.empty()) out.push_back(std::move(wordings));
  }
  return out;
}

/// Each an object {title, text}, or a text.
std::vector<PromptPassage> read_passages(const json& record, std::string& problem) {
  std::vector<PromptPassage> out;
  const auto found = record.find("passages");
  if (found == record.end() || !found->is_array()) {
    problem = "has no list \"passages\"";
    return out;
  }
  for (const json& each : *found) {
    PromptPassage passage;
    if (each.is_object()) {
      passage = {UntrustedText(text_field(each, "title", problem)), UntrustedText(text_field(each, "text", problem))};
    } else if (each.is_string()) {
      passage.text = UntrustedText(each.get<std::string>());
    } else {
      problem = "\"passages\" holds something else than texts and objects";
    }
    if (!problem.empty()) return {};
    if (!passage.text.empty()) out.push_back(std::move(passage));
  }
  return out;
}

/// Its letter, as prompts show it.
std::optional<std::size_t> read_right_option(const json& record, std::size_t options, std::string& problem) {
  const std::string letter = text_field(record, "right_option", problem);
  if (letter.empty()) return std::nullopt;
  for (std::size_t i = 0; i < std::min<std::size_t>(options, 26); ++i) {
    if (letter == option_letter(i)) return i;
  }
  problem = "\"right_option\" is the letter of none of the options";
  return std::nullopt;
}

std::string read_item(const json& record, AnswerItem& item) {
  std::string problem;
  item.id = text_field(record, "id", problem);
  item.question = UntrustedText(text_field(record, "question", problem));
  item.answers = text_list(record, "answers", problem);
  item.facts = read_facts(record, problem);
  if (item.answers.empty()) {
    for (const auto& wordings : item.facts) item.answers.push_back(wordings.front());
  }
  item.options = text_list(record, "options", problem);
  item.right_option = read_right_option(record, item.options.size(), problem);
  if (!item.right_option) item.options.clear();
  item.wrong_answer = UntrustedText(text_field(record, "wrong_answer", problem));
  item.wrong_texts = text_list(record, "wrong_texts", problem);
  if (problem.empty()) item.passages = read_passages(record, problem);
  return problem;
}

/// Supporting paragraphs first, as a perfect retriever would have them, then the others, each in the file's order.
std::string read_musique_item(const json& record, std::size_t most, AnswerItem& item) {
  std::string problem;
  item.id = text_field(record, "id", problem);
  item.question = UntrustedText(text_field(record, "question", problem));
  item.answers = text_list(record, "answer", problem);
  for (UntrustedText& other : text_list(record, "answer_aliases", problem)) item.answers.push_back(std::move(other));
  const auto paragraphs = record.find("paragraphs");
  if (paragraphs == record.end() || !paragraphs->is_array()) problem = "has no list \"paragraphs\"";
  if (!problem.empty()) return problem;
  std::vector<PromptPassage> others;
  for (const json& paragraph : *paragraphs) {
    if (!paragraph.is_object()) return "\"paragraphs\" holds something else than objects";
    PromptPassage passage{UntrustedText(text_field(paragraph, "title", problem)),
                          UntrustedText(text_field(paragraph, "paragraph_text", problem))};
    if (!problem.empty()) return problem;
    if (passage.text.empty()) continue;
    const auto supports = paragraph.find("is_supporting");
    const bool first = supports != paragraph.end() && *supports == true;
    (first ? item.passages : others).push_back(std::move(passage));
  }
  for (PromptPassage& each : others) item.passages.push_back(std::move(each));
  if (item.passages.size() > most) item.passages.resize(most);
  return problem;
}

Status digest_file(const std::string& path, AnswerSet& out) {
  const auto content = read_file(path, UINT64_C(4) << 30U);
  if (!content) return content.error();
  out.digest = blake2b(*content);
  return {};
}

}  // namespace

std::string AnswerSetBuilder::add(AnswerItem item, std::size_t number) {
  if (item.question.bytes().find_first_not_of(" \t\r\n") == std::string::npos) return "has no question";
  if (item.answers.empty()) return "has no right answer";
  if (item.passages.empty()) return "has no passage with text";
  if (item.id.empty()) item.id = std::to_string(number);
  if (!ids_.insert(item.id).second) {
    item.id += "#" + std::to_string(number);
    ids_.insert(item.id);
  }
  out_.items.push_back(std::move(item));
  return {};
}

void draw_wrong_answers(std::uint64_t seed, AnswerSet& out) {
  std::vector<AttackTarget> targets;
  for (const AnswerItem& item : out.items) {
    AttackTarget& target = targets.emplace_back();
    target.query_id = item.id;
    target.query = item.question;
    target.answers = item.answers;
    target.wrong_answer = item.wrong_answer;
  }
  const WrongAnswers pool(targets);
  const AttackInput input{{}, targets, seed};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto wrong = wanted_answer(input, pool, targets[i], "answers");
    if (wrong) out.items[i].wrong_answer = UntrustedText(*std::move(wrong));
  }
}

Status load_jsonl_answers(const std::string& path, const AnswerSetOptions& options, AnswerSet& out) {
  if (Status read = digest_file(path, out); !read) return read;
  DataSet scratch;
  DataBuilder rows(scratch);
  AnswerSetBuilder items(out);
  const Status read =
      each_json_row(path, rows, [&](const json& record, const std::string& line, const std::string& /*where*/) {
        AnswerItem item;
        std::string problem = read_item(record, item);
        return problem.empty() ? items.add(std::move(item), std::stoull(line)) : problem;
      });
  if (!read) return read;
  out.broken = std::move(scratch.problems);
  draw_wrong_answers(options.seed, out);
  return {};
}

Status load_musique_answers(const std::string& path, const AnswerSetOptions& options, AnswerSet& out) {
  if (Status read = digest_file(path, out); !read) return read;
  DataSet scratch;
  DataBuilder rows(scratch);
  AnswerSetBuilder items(out);
  std::size_t number = 0;
  const Status read =
      each_json_record(path, rows, [&](const json& record, const std::string& /*key*/, const std::string& /*where*/) {
        AnswerItem item;
        std::string problem = read_musique_item(record, options.passages, item);
        ++number;
        return problem.empty() ? items.add(std::move(item), number) : problem;
      });
  if (!read) return read;
  out.broken = std::move(scratch.problems);
  draw_wrong_answers(options.seed, out);
  return {};
}

}  // namespace casemate
