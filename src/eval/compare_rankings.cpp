#include <algorithm>
#include <iterator>
#include <map>

#include "casemate/core/untrusted_text.h"
#include "casemate/eval/compare.h"
#include "eval/json_lines.h"

namespace casemate {
namespace {

using Rankings = std::map<std::string, std::vector<std::string>, std::less<>>;

std::string read_record(const nlohmann::json& record, Rankings& out) {
  const auto query = record.find("query");
  if (query == record.end() || !query->is_string()) return "field \"query\" is missing or not text";
  const auto hits = record.find("hits");
  if (hits == record.end() || !hits->is_array()) return "field \"hits\" is missing or not a list";
  std::vector<std::string> ids;
  for (const nlohmann::json& hit : *hits) {
    if (!hit.is_array() || hit.empty() || !hit[0].is_string()) return "a hit is not [id, score]";
    ids.push_back(hit[0].get<std::string>());
  }
  if (!out.emplace(query->get<std::string>(), std::move(ids)).second)
    return "query \"" + UntrustedText(query->get<std::string>()).for_log() + "\" stands twice";
  return {};
}

Result<Rankings> read_rankings(const std::string& path) {
  Rankings out;
  const Status read = each_json_line(
      path, [&](const nlohmann::json& record, std::size_t) -> std::string { return read_record(record, out); });
  if (!read) return read.error();
  return out;
}

}  // namespace

Result<RankingAgreement> compare_rankings(const std::string& first, const std::string& second) {
  const auto one = read_rankings(first);
  if (!one) return one.error();
  const auto other = read_rankings(second);
  if (!other) return other.error();
  RankingAgreement out;
  for (const auto& [query, ranked] : *one) {
    const auto found = other->find(query);
    if (found == other->end()) {
      ++out.only_in_first;
      continue;
    }
    ++out.queries;
    out.same_order += ranked == found->second ? 1 : 0;
    std::vector<std::string> a = ranked;
    std::vector<std::string> b = found->second;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    out.same_ids += a == b ? 1 : 0;
    std::vector<std::string> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    const std::size_t either = a.size() + b.size() - both.size();
    out.shared += either == 0 ? 1.0 : static_cast<double>(both.size()) / static_cast<double>(either);
  }
  out.only_in_second = other->size() - out.queries;
  if (out.queries > 0) out.shared /= static_cast<double>(out.queries);
  return out;
}

}  // namespace casemate
