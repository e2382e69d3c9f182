#include "casemate/eval/report.h"

#include <array>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "eval/report/costs.h"
#include "eval/report/html.h"
#include "eval/report/query_data.h"
#include "eval/report/tables.h"

namespace casemate {

// Made from page.html, page.css and page.js at build time.
std::string_view report_page_html();
std::string_view report_page_css();
std::string_view report_page_js();

namespace {

constexpr QueryDataLimits kSteps[] = {{1000, 1500, 10}, {1000, 800, 10}, {1000, 400, 10}, {1000, 400, 5},
                                      {1000, 240, 5},   {500, 400, 5},   {250, 400, 5},   {120, 400, 5},
                                      {60, 400, 5},     {25, 300, 5},    {10, 200, 5},    {0, 0, 0}};

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = (group << 8U) | (i + k < bytes.size() ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k > bytes.size() - i ? '=' : kAlphabet[(group >> (18U - 6U * static_cast<unsigned>(k))) & 63U];
  }
  return out;
}

std::string csp_hash(std::string_view text) { return "'sha256-" + base64(sha256(text)) + "'"; }

std::string section(const std::string& id, const std::string& title, const std::string& body) {
  if (body.empty()) return {};
  return "<section id=\"" + id + "\"><h2>" + html_text(title) + "</h2>" + body + "</section>";
}

std::string drill_down(const std::string& number, const QueryData& data) {
  if (data.queries() == 0) return {};
  return "<div class=\"drill\" data-run=\"" + number +
         "\"><noscript><p>Single queries are shown by a script, which is "
         "switched off here. The logs in queries/ hold the same.</p></noscript></div>";
}

std::string run_sections(const RunRecord& run, const QueryData& data, const std::string& number, bool several,
                         bool with_costs) {
  const std::string prefix = "r" + number + "-";
  std::string out = "<article id=\"run-" + number + "\">";
  if (several) out += "<h1 class=\"run-name\">" + html_text(run.name) + "</h1>";
  out += "<p class=\"lead\">" + html_text(run.description) + "</p>" + facts_section(run);
  out += section(prefix + "grid", run.kind == "answers" ? "Attack × method" : "Attack × defence",
                 grid_section(run, prefix));
  out += section(prefix + "trade", "Utility against robustness", trade_off_section(run, prefix));
  out += section(prefix + "sweeps", "Sweeps", sweep_section(run, prefix));
  out += section(prefix + "certified", "Certificates", certified_section(run));
  out += section(prefix + "differences", "Differences", difference_table(run.differences));
  out += section(prefix + "published", "Beside the papers", published_section(run));
  if (with_costs) out += section(prefix + "costs", "Cost", costs_section(run));
  out += section(prefix + "queries", "Query by query", drill_down(number, data));
  return out + "</article>";
}

Result<std::string> between_runs(std::span<const RunRecord> runs) {
  std::string out;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto rows = compare_runs(runs[0], runs[i]);
    if (!rows) return rows.error();
    out += "<h3>" + html_text(runs[i].folder) + " against " + html_text(runs[0].folder) + "</h3>";
    out += rows->empty() ? "<p>They share no condition with the same queries.</p>" : difference_table(*rows);
  }
  return out;
}

std::string navigation(const std::string& body) {
  // The sections that there are, in order.
  std::string out;
  constexpr std::string_view kBegin = "<section id=\"";
  for (std::size_t at = body.find(kBegin); at != std::string::npos; at = body.find(kBegin, at + 1)) {
    const std::size_t id = at + kBegin.size();
    const std::size_t id_end = body.find('"', id);
    const std::size_t title = body.find("<h2>", id_end) + 4;
    out += "<a href=\"#" + body.substr(id, id_end - id) + "\">" +
           body.substr(title, body.find("</h2>", title) - title) + "</a>";
  }
  return out;
}

/// Each mark of the template is replaced once, and what is put in is not looked through again.
std::string fill(std::string_view page, std::span<const std::pair<std::string_view, std::string>> values) {
  std::string out;
  while (!page.empty()) {
    const std::size_t open = page.find("{{");
    out += page.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [known, value] : values) {
      if (known == name) out += value;
    }
    page.remove_prefix(close + 2);
  }
  return out;
}

}  // namespace

Result<std::string> make_report(std::span<const RunRecord> runs, const ReportOptions& options) {
  if (runs.empty()) return Error{ErrorCode::kInvalidArgument, "a report needs at least one run"};
  if (options.max_bytes < 200'000 || options.max_bytes > 100'000'000)
    return Error{ErrorCode::kInvalidOption, "max_bytes must be in [200000, 100000000]"};
  std::string title = options.title;
  for (const RunRecord& run : runs) {
    if (options.title.empty()) title += (title.empty() ? "" : ", ") + run.name;
  }
  std::string body;
  std::vector<QueryData> data;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto read = QueryData::read(runs[i]);
    if (!read) return read.error();
    body += run_sections(runs[i], *read, std::to_string(i), runs.size() > 1, options.with_costs);
    data.push_back(*std::move(read));
  }
  if (runs.size() > 1) {
    const auto compared = between_runs(runs);
    if (!compared) return compared.error();
    body = section("between", "Between the runs", *compared) + body;
  }
  std::array<std::pair<std::string_view, std::string>, 7> values = {{{"title", html_text(title)},
                                                                     {"css", std::string(report_page_css())},
                                                                     {"script", std::string(report_page_js())},
                                                                     {"navigation", navigation(body)},
                                                                     {"body", body},
                                                                     {"data", ""},
                                                                     {"policy", ""}}};
  values[6].second = "script-src " + csp_hash(report_page_js()) + "; style-src " + csp_hash(report_page_css());
  for (const QueryDataLimits& step : kSteps) {
    std::string scripts;
    for (std::size_t i = 0; i < data.size(); ++i) {
      scripts += "<script type=\"application/json\" class=\"run-data\" data-run=\"" + std::to_string(i) + "\">" +
                 data[i].json(step) + "</script>\n";
    }
    values[5].second = std::move(scripts);
    std::string page = fill(report_page_html(), values);
    if (page.size() <= options.max_bytes) return page;
  }
  return Error{ErrorCode::kLimit, "the tables alone are larger than max_bytes (" + std::to_string(options.max_bytes) +
                                      "); make a report of fewer runs or raise it"};
}

Status write_report(const std::string& folder) {
  const auto run = read_run_record(folder);
  if (!run) return run.error();
  const auto page = make_report(std::span(&*run, 1));
  if (!page) return page.error();
  return write_file_atomically(FileSystem::posix(), join_path(folder, "report.html"), *page);
}

}  // namespace casemate
