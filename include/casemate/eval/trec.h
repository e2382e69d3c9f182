// casemate/eval/trec.h
#pragma once

#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/eval/ranking_metrics.h"

namespace casemate {

// TREC's plain-text files. Fields are separated by blanks or tabs; blank lines and a byte-order mark are skipped. A
// line that does not parse, a grade or score that is no finite number, and a pair of query and document that stands
// twice are errors of the whole file: a metric of half a file would be wrong without a sign of it. Error: InvalidInput
// with path and line; NotFound, Io, Limit (larger than 1 GiB).

/// `query iteration document grade`, or BEIR's TSV with the header `query-id corpus-id score`.
[[nodiscard]] Result<Qrels> read_qrels(const std::string& path);
/// `query Q0 document rank score tag`; rank and tag are not looked at, as trec_eval does not.
[[nodiscard]] Result<RetrievalRun> read_run(const std::string& path);

/// The same for text that is in memory; `name` stands in messages.
[[nodiscard]] Result<Qrels> parse_qrels(std::string_view text, std::string_view name);
[[nodiscard]] Result<RetrievalRun> parse_run(std::string_view text, std::string_view name);

}  // namespace casemate
