#include "search_text.h"

#include <set>

#include "document_rows.h"
#include "failure.h"
#include "sql_functions.h"
#include "sqlite_statement.h"
#include "word_segmenter.h"

namespace casemate {
namespace {

constexpr std::size_t kMaxQueryWords = 256, kMaxLabelsInFilter = 1000;

/// The query's words as an FTS5 expression: "w1" OR "w2" OR ... Empty where it has no words. Nothing of the query's
/// own punctuation gets through: a word has none, and its quotes would be doubled.
std::string match_expression(const UntrustedText& query) {
  WordSegmenter segmenter;
  std::set<std::string, std::less<>> seen;
  std::string expression;
  segmenter.segment(query.bytes(), [&](std::string_view word, std::size_t, std::size_t) {
    if (!seen.emplace(word).second) return true;
    if (!expression.empty()) expression += " OR ";
    expression += '"';
    for (const char c : word) expression.append(c == '"' ? 2 : 1, c);
    expression += '"';
    return seen.size() < kMaxQueryWords;
  });
  return expression;
}

/// "?5, ?6, ?7"
std::string placeholders(int first, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "?" : ", ?") + std::to_string(first + static_cast<int>(i));
  return list;
}

}  // namespace

std::vector<Bm25Hit> bm25(Database& database, std::string_view tenant, const UntrustedText& query, int top_k,
                          const ChunkSet* allowed) {
  if (top_k < 0)
    throw Failure{Error{ErrorCode::kInvalidArgument, "top_k is " + std::to_string(top_k) + ", must be at least 0"}};
  const std::string expression = match_expression(query);
  const std::int64_t tenant_id = find_tenant(database, tenant);
  if (expression.empty() || tenant_id == 0 || top_k == 0) return {};
  const std::string table = fts_table(tenant_id);
  // SQLite's bm25() is lower for better; with the sign turned, higher is.
  Statement statement(database, "SELECT rowid, -bm25(" + table + ") AS score FROM " + table + " WHERE " + table +
                                    " MATCH ?1" + (allowed != nullptr ? " AND casemate_allowed(rowid, ?3)" : "") +
                                    " ORDER BY score DESC, rowid LIMIT ?2");
  statement.bind_text(1, expression).bind(2, top_k);
  if (allowed != nullptr) statement.bind_pointer(3, allowed, kChunkSetPointer);
  std::vector<Bm25Hit> hits;
  while (statement.step()) hits.push_back({statement.integer(0), statement.real(1)});
  return hits;
}

ChunkSet select_chunks(Database& database, std::string_view tenant, const DocumentFilter& filter) {
  const std::set<std::string> any =
      filter.any_of ? std::set<std::string>(filter.any_of->begin(), filter.any_of->end()) : std::set<std::string>();
  const std::set<std::string> all(filter.all_of.begin(), filter.all_of.end());
  const std::set<std::string> none(filter.none_of.begin(), filter.none_of.end());
  if (any.size() > kMaxLabelsInFilter || all.size() > kMaxLabelsInFilter || none.size() > kMaxLabelsInFilter) {
    throw Failure{Error{ErrorCode::kLimit, "a label filter with more than 1000 labels"}};
  }
  const std::int64_t tenant_id = find_tenant(database, tenant);
  if (tenant_id == 0 || (filter.any_of && any.empty())) return {};
  std::string sql = "SELECT first_chunk, chunk_count FROM document d WHERE d.tenant = ?1";
  int next = 3;
  const std::string labels = "FROM label l WHERE l.document = d.row AND l.label IN (";
  const auto condition = [&](const std::string& before, const std::set<std::string>& list, const std::string& after) {
    if (list.empty()) return;
    sql += before + labels + placeholders(next, list.size()) + after;
    next += static_cast<int>(list.size());
  };
  condition(" AND EXISTS(SELECT 1 ", any, "))");
  condition(" AND (SELECT count(*) ", all, ")) = " + std::to_string(all.size()));
  condition(" AND NOT EXISTS(SELECT 1 ", none, "))");
  if (filter.trusted) sql += " AND d.trusted = ?2";
  Statement statement(database, sql);
  statement.bind(1, tenant_id);
  if (filter.trusted) statement.bind(2, *filter.trusted ? 1 : 0);
  int index = 3;
  for (const auto* list : {&any, &all, &none}) {
    for (const std::string& label : *list) statement.bind_text(index++, label);
  }
  std::vector<ChunkRange> ranges;
  while (statement.step()) ranges.push_back(checked_range(database, statement.integer(0), statement.integer(1)));
  return ChunkSet(std::move(ranges));
}

}  // namespace casemate
