// casemate/formats/reader.h
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>

#include "casemate/core/status.h"
#include "casemate/formats/document.h"
#include "casemate/formats/read_options.h"

namespace casemate {

struct ReadSummary {
  std::uint64_t files = 0;      ///< files opened
  std::uint64_t documents = 0;  ///< given to the sink
  std::uint64_t problems = 0;   ///< told to the sink
  std::uint64_t hidden_files_skipped = 0;
};

/// Reads files and folders, in the order given; folders in the byte order of names. docs/formats.md says what each
/// format gives. A missing path, a broken record, an unreadable folder, a link that loops or leaves the folder, a FIFO
/// or device, binary content under a text name, and a second document with an id already seen are problems, and the
/// rest goes on. An id is the path below the given root (the file's name where the root is a file), so that it does not
/// depend on where the root lies; files of two roots may share one (`Document::root` differs).
///
/// Memory: JSONL, CSV and TSV stream (one record at a time); other files are read whole, within the limits; ids seen
/// are kept. HTML, Markdown and PDF are parsed in child processes that end before this returns. Safe to call from any
/// thread of a multi-threaded program (a child is forked and at once executes another program), one call a sink. A stop
/// is seen between records and while a child works, which is then killed. Error: InvalidOption; what the sink returned;
/// Limit at `max_documents`; Cancelled.
[[nodiscard]] Result<ReadSummary> read_paths(std::span<const std::string> paths, const ReadOptions& options,
                                             DocumentSink& sink, const std::stop_token& stop = {});
[[nodiscard]] Result<ReadSummary> read_path(const std::string& path, const ReadOptions& options, DocumentSink& sink,
                                            const std::stop_token& stop = {});

}  // namespace casemate
