// JUnit and SARIF.
#include <nlohmann/json.hpp>

#include "casemate/core/untrusted_text.h"
#include "casemate/core/utf8.h"
#include "casemate/eval/export.h"
#include "eval/report/html.h"

namespace casemate {
namespace {

using nlohmann::ordered_json;

/// For XML 1.0: as for HTML, less the two characters that no XML may hold.
std::string xml_text(const std::string& text) {
  std::string out;
  const std::string escaped = html_text(text);
  for (std::size_t at = 0; at < escaped.size();) {
    const CodePoint point = read_code_point(escaped, at);
    const std::size_t length = std::max<std::size_t>(point.length, 1);
    if (point.value == 0xFFFE || point.value == 0xFFFF) {
      out += "?";
    } else {
      out.append(escaped, at, length);
    }
    at += length;
  }
  return out;
}

std::string name_of(const GateResult& result) { return result.attack + " / " + result.defence; }

std::string message_of(const GateResult& result, const Gate& gate) {
  if (!result.reason.empty()) return name_of(result) + ": " + result.metric + " shows nothing: " + result.reason;
  return name_of(result) + ": " + result.metric + " is " + fixed_text(result.figure.value, 4) + " " +
         interval_text(result.figure.interval, 4) + " over " + std::to_string(result.figure.of) + " queries" +
         (result.failed ? ", and must not be: " : "; not the case: ") + gate.text;
}

ordered_json text_json(const std::string& text) { return {{"text", to_valid_utf8(text)}}; }

/// A relative URI reference: everything but unreserved characters and "/" is percent-encoded.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    out += plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4U], kHex[byte & 15U]};
  }
  return out;
}

ordered_json location(const std::string& path) {
  return ordered_json::array(
      {{{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(path)}, {"uriBaseId", "RUN"}}}}}}});
}

}  // namespace

std::string gates_junit(const RunRecord& run, std::span<const Gate> gates, std::span<const GateResult> results) {
  std::size_t failures = 0;
  std::string cases;
  for (const GateResult& result : results) {
    const Gate& gate = gates[result.gate];
    cases += "    <testcase classname=\"" + xml_text(run.name + ": " + name_of(result)) + "\" name=\"" +
             xml_text(gate.text + " (" + result.metric + ")") + "\" time=\"0\"";
    const std::string message = xml_text(message_of(result, gate));
    if (!result.failed) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    cases += ">\n      <failure type=\"gate\" message=\"" + message + "\">" + message + "</failure>\n    </testcase>\n";
  }
  const std::string counts =
      " tests=\"" + std::to_string(results.size()) + "\" failures=\"" + std::to_string(failures) + "\" errors=\"0\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"casemate\"" + counts +
         " time=\"0\">\n  <testsuite name=\"" + xml_text(run.name) + "\"" + counts + " skipped=\"0\" time=\"0\">\n" +
         cases + "  </testsuite>\n</testsuites>\n";
}

std::string gates_sarif(const RunRecord& run, std::span<const Gate> gates, std::span<const GateResult> results) {
  ordered_json rules = ordered_json::array();
  for (std::size_t g = 0; g < gates.size(); ++g) {
    rules.push_back({{"id", "gate/" + std::to_string(g + 1)},
                     {"name", "Gate" + std::to_string(g + 1)},
                     {"shortDescription", text_json("Must not be: " + gates[g].text)},
                     {"defaultConfiguration", {{"level", "error"}}}});
  }
  rules.push_back({{"id", "certificate/broken"},
                   {"name", "BrokenCertificate"},
                   {"shortDescription", text_json("An attack within the budget changed a certified answer")},
                   {"defaultConfiguration", {{"level", "error"}}}});
  ordered_json found = ordered_json::array();
  for (const GateResult& result : results) {
    if (!result.failed) continue;
    found.push_back({{"ruleId", "gate/" + std::to_string(result.gate + 1)},
                     {"ruleIndex", result.gate},
                     {"level", "error"},
                     {"message", text_json(message_of(result, gates[result.gate]))},
                     {"locations", location(result.log.empty() ? "summary.json" : result.log)},
                     {"partialFingerprints",
                      {{"casemateGate/v1",
                        to_valid_utf8(gates[result.gate].text + "\n" + name_of(result) + "\n" + result.metric)}}},
                     {"properties",
                      {{"attack", to_valid_utf8(result.attack)},
                       {"defence", to_valid_utf8(result.defence)},
                       {"metric", to_valid_utf8(result.metric)},
                       {"value", result.figure.value},
                       {"queries", result.figure.of}}}});
  }
  for (const RunCertified& each : run.certified) {
    if (each.broken == 0) continue;
    found.push_back({{"ruleId", "certificate/broken"},
                     {"ruleIndex", gates.size()},
                     {"level", "error"},
                     {"message", text_json(each.method + ", " + each.budget + ": " + std::to_string(each.broken) +
                                           " certified answers changed under an attack within the budget")},
                     {"locations", location("summary.json")}});
  }
  const ordered_json driver = {{"name", "Casemate"}, {"semanticVersion", "0.1.0"}, {"rules", std::move(rules)}};
  ordered_json one = {
      {"tool", {{"driver", driver}}},
      {"originalUriBaseIds", {{"RUN", {{"description", text_json("the folder of the run " + run.name)}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"results", std::move(found)}};
  return ordered_json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", ordered_json::array({std::move(one)})}}
             .dump(1) +
         "\n";
}

}  // namespace casemate
