#include "casemate/eval/trec.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <vector>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"
#include "eval/numbered_lines.h"

namespace casemate {
namespace {

constexpr std::uint64_t kMaxBytes = UINT64_C(1) << 30U;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return fields;
}

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string quoted(std::string_view text) { return "\"" + UntrustedText(std::string(text)).for_log(80) + "\""; }

/// Calls take(fields) for each line that holds something; what it returns, if not empty, is what is wrong with it.
Status each_line(std::string_view text, std::string_view name,
                 const std::function<std::string(const std::vector<std::string_view>&, std::size_t)>& take) {
  return each_numbered_line(text, name, [&](std::string_view line, std::size_t number) {
    const auto fields = fields_of(line);
    if (fields.empty()) return std::string();
    return is_valid_utf8(line) ? take(fields, number) : std::string("the line is not valid UTF-8");
  });
}

std::string twice(std::string_view query, std::string_view document) {
  return "query " + quoted(query) + " and document " + quoted(document) + " stand together for the second time";
}

}  // namespace

Result<Qrels> parse_qrels(std::string_view text, std::string_view name) {
  Qrels out;
  bool beir = false;
  const Status read = each_line(text, name, [&](const auto& fields, std::size_t number) -> std::string {
    if (number == 1 && fields.size() == 3 && fields[0] == "query-id") {
      beir = true;
      return {};
    }
    if (fields.size() != (beir ? 3U : 4U)) {
      return "expected " + std::string(beir ? "3 fields (query document grade)" : "4 fields (query 0 document grade)") +
             ", found " + std::to_string(fields.size());
    }
    const std::string_view document = beir ? fields[1] : fields[2];
    int grade = 0;
    if (!parse_number(fields.back(), grade)) return "the grade " + quoted(fields.back()) + " is not a whole number";
    if (!out[std::string(fields[0])].emplace(document, grade).second) return twice(fields[0], document);
    return {};
  });
  if (!read) return read.error();
  if (out.empty()) return Error{ErrorCode::kInvalidInput, std::string(name) + ": holds no judgement"};
  return out;
}

Result<RetrievalRun> parse_run(std::string_view text, std::string_view name) {
  RetrievalRun out;
  const Status read = each_line(text, name, [&](const auto& fields, std::size_t) -> std::string {
    if (fields.size() != 6)
      return "expected 6 fields (query Q0 document rank score tag), found " + std::to_string(fields.size());
    double score = 0;
    if (!parse_number(fields[4], score) || !std::isfinite(score))
      return "the score " + quoted(fields[4]) + " is not a finite number";
    if (!out[std::string(fields[0])].emplace(fields[2], score).second) return twice(fields[0], fields[2]);
    return {};
  });
  if (!read) return read.error();
  return out;
}

Result<Qrels> read_qrels(const std::string& path) {
  const auto text = read_file(path, kMaxBytes);
  if (!text) return text.error();
  return parse_qrels(*text, UntrustedText(path).for_log());
}

Result<RetrievalRun> read_run(const std::string& path) {
  const auto text = read_file(path, kMaxBytes);
  if (!text) return text.error();
  return parse_run(*text, UntrustedText(path).for_log());
}

}  // namespace casemate
