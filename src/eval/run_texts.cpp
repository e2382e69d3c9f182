#include "eval/run_texts.h"

#include <nlohmann/json.hpp>
#include <set>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "casemate/eval/run_texts.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json texts_json(std::span<const UntrustedText> texts) {
  ordered_json out = ordered_json::array();
  for (const UntrustedText& each : texts) out.push_back(each.for_json());
  return out;
}

Status write_both(const std::string& folder, const std::string& questions, const std::string& passages) {
  FileSystem& files = FileSystem::posix();
  const std::string texts = join_path(folder, "texts");
  if (Status made = files.create_directories(texts); !made) return made;
  if (Status written = write_file_atomically(files, join_path(texts, "questions.jsonl"), questions); !written)
    return written;
  return write_file_atomically(files, join_path(texts, "passages.jsonl"), passages);
}

std::string passage_line(const std::string& id, const UntrustedText& title, const UntrustedText& text) {
  return ordered_json{{"id", UntrustedText(id).for_json()}, {"title", title.for_json()}, {"text", text.for_json()}}
             .dump() +
         "\n";
}

}  // namespace

Status write_run_texts(const std::string& folder, const DataSet& data, std::span<const AttackTarget> asked,
                       std::span<const std::string> logs) {
  std::set<std::string, std::less<>> named;
  std::string questions;
  for (const AttackTarget& each : asked) {
    named.insert(each.gold_document);
    questions += ordered_json{{"query", UntrustedText(each.query_id).for_json()},
                              {"question", each.query.for_json()},
                              {"answers", texts_json(each.answers)},
                              {"gold", UntrustedText(each.gold_document).for_json()}}
                     .dump() +
                 "\n";
  }
  for (const std::string& log : logs) {
    const Status read = each_json_line(log, [&named](const json& line, std::size_t) -> std::string {
      const auto hits = line.find("hits");
      if (hits == line.end() || !hits->is_array()) return {};
      for (const json& hit : *hits) {
        if (hit.is_array() && !hit.empty() && hit[0].is_string()) named.insert(hit[0].get<std::string>());
      }
      return {};
    });
    if (!read) return read;
  }
  std::string passages;
  for (const CorpusPassage& each : data.passages) {
    if (named.contains(each.id)) passages += passage_line(each.id, each.title, each.text);
  }
  return write_both(folder, questions, passages);
}

Status write_answer_texts(const std::string& folder, const AnswerSet& data, std::size_t passages_of_each) {
  std::set<std::string, std::less<>> asked;
  FileSystem& files = FileSystem::posix();
  const auto logs = files.list(join_path(folder, "queries"));
  if (!logs) return logs.error();
  for (const std::string& log : *logs) {
    const Status read =
        each_json_line(join_path(folder, "queries/" + log), [&](const json& line, std::size_t) -> std::string {
          const auto query = line.find("query");
          if (query != line.end() && query->is_string()) asked.insert(query->get<std::string>());
          return {};
        });
    if (!read) return read;
  }
  std::string questions;
  std::string passages;
  std::set<std::string, std::less<>> written;
  for (const AnswerItem& item : data.items) {
    if (!asked.contains(UntrustedText(item.id).for_json())) continue;
    ordered_json ids = ordered_json::array();
    for (std::size_t i = 0; i < std::min(passages_of_each, item.passages.size()); ++i) {
      // Passages of questions have no ids of their own.
      const PromptPassage& passage = item.passages[i];
      const std::string id = "p" + to_hex(blake2b(passage.title.bytes() + "\n" + passage.text.bytes())).substr(0, 16);
      ids.push_back(id);
      if (written.insert(id).second) passages += passage_line(id, passage.title, passage.text);
    }
    questions += ordered_json{{"query", UntrustedText(item.id).for_json()},
                              {"question", item.question.for_json()},
                              {"answers", texts_json(item.answers)},
                              {"wrong_answer", item.wrong_answer.for_json()},
                              {"passages", std::move(ids)}}
                     .dump() +
                 "\n";
  }
  return write_both(folder, questions, passages);
}

}  // namespace casemate
