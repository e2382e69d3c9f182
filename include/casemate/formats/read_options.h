// casemate/formats/read_options.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "casemate/core/status.h"
#include "casemate/formats/document.h"

namespace casemate {

/// Bounds on hostile input. What passes one is a problem that names the file and the limit, never a cut document.
struct ReadLimits {
  std::uint64_t max_file_bytes = UINT64_C(512) << 20U;      ///< files read whole (all but JSONL, CSV, TSV); >= 1
  std::size_t max_record_bytes = std::size_t{16} << 20U;    ///< a line of JSONL, a row of CSV; >= 1
  std::uint64_t max_documents = UINT64_C(100'000'000);      ///< documents of one run; >= 1
  int max_nesting = 512;                                    ///< depth of HTML, XML and JSON; 1 to 10,000
  int max_folder_depth = 64;                                ///< folders below the given one; 0 to 1,000
  std::uint64_t max_unzipped_bytes = UINT64_C(512) << 20U;  ///< of the part of a zip file that is read; >= 1
  int max_zip_ratio = 200;                                  ///< its size unpacked over packed, above 1 MiB; >= 1
  int max_pdf_pages = 20'000;                               ///< >= 1
  int child_timeout_ms = 60'000;                            ///< for one HTML, Markdown or PDF file; 1 to 3,600,000
  std::uint64_t child_memory_bytes = UINT64_C(1) << 30U;    ///< address space of such a child; >= 64 MiB
  std::uint64_t child_output_bytes = UINT64_C(512) << 20U;  ///< what it may hand back; >= 1
};

struct CsvOptions {
  bool has_header = true;  ///< the first row names the columns (else they are "1", "2", ...)
  std::string
      text_column;  ///< "": text, passage, content, body or context if there is one, else all columns as "name: value"
  std::string id_column;     ///< "": "_id" or "id" if there is one, else path#row
  std::string title_column;  ///< "": "title" if there is one
};

struct ReadOptions {
  Format format = Format::kAuto;      ///< kAuto: by extension, then by content
  bool generate_ids = false;          ///< JSONL records without an id get path#line instead of being a problem
  bool include_hidden_files = false;  ///< files and folders whose name begins with "." below a given folder
  bool follow_outside_links = false;  ///< symbolic links that lead out of the given folder
  CsvOptions csv;
  ReadLimits limits;
  /// The helper that parses HTML and Markdown. "": `casemate-reader` beside the running program, or in
  /// ../libexec/casemate from there.
  std::string reader_program;
  std::string pdftotext_program = "/usr/bin/pdftotext";  ///< of poppler-utils; an absolute path
};

/// Error: InvalidOption, naming field, value and range.
[[nodiscard]] Status check(const ReadOptions& options);

}  // namespace casemate
