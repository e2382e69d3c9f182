// casemate/formats/document.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/text/finding.h"
#include "casemate/text/offset_map.h"

namespace casemate {

/// What a file is read as.
enum class Format : std::uint8_t { kAuto, kText, kMarkdown, kHtml, kPdf, kDocx, kCsv, kTsv, kJsonl, kSquad };

/// Stable name, such as "markdown". Never null.
[[nodiscard]] std::string_view format_name(Format format) noexcept;
/// Error: InvalidOption, listing the names.
[[nodiscard]] Result<Format> format_from_name(std::string_view name);

/// What `Document::offsets` and the spans of its findings count in.
enum class SourceUnit : std::uint8_t {
  kFileBytes,      ///< bytes of the file: text, Markdown, HTML, CSV, TSV
  kFieldBytes,     ///< bytes of the decoded "text" field of the record at `Document::record`: JSONL, SQuAD
  kDocumentXml,    ///< bytes of word/document.xml inside a DOCX
  kExtractedText,  ///< bytes of what pdftotext gave; `Document::pages` says on which page
};

/// Page `number` (from 1) begins at byte `begin` of `Document::text`.
struct PageStart {
  int number = 0;
  std::size_t begin = 0;
};

/// One document as it goes on to chunking. All text in it came from outside.
struct Document {
  std::string id;  ///< unique within a run, apart from files of two roots (`root`): path below it, or a record's own id
  UntrustedText title;  ///< cleaned; may be empty
  UntrustedText text;   ///< cleaned (text/clean_text.h), never blank
  OffsetMap offsets;    ///< text -> source, in `source_unit`
  SourceUnit source_unit = SourceUnit::kFileBytes;
  Format format = Format::kText;
  std::string path;      ///< the file as found, for messages
  std::size_t line = 0;  ///< first line of the record (from 1); 0 where the file is the document
  ByteSpan record;       ///< bytes of the file that hold this document: the line of a JSONL, the row of a CSV, else all
  std::map<std::string, std::string> metadata;  ///< other fields and columns; keys and values are untrusted
  bool one_passage = false;                     ///< a passage of a data set or a row: not to be chunked
  std::vector<Finding> findings;
  std::vector<PageStart> pages;  ///< PDF only
  std::string absolute_path{};   ///< of the file: its root without links, and the path below it
  /// Absolute; the folder that `id` counts from. Two documents with one id and different roots are different files.
  /// Empty where the record has an id of its own, which means the record wherever its file lies.
  std::string root{};
};

/// Something that could not be read. The run went on.
struct InputProblem {
  std::string path;
  std::size_t line = 0;  ///< 0 where it concerns the whole file
  Error error;           ///< its message begins with the path, and the line where there is one; safe to print
};

/// Receives what a reader finds, in order, from the thread that called the reader.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  /// An error stops the run and is returned by the reader.
  [[nodiscard]] virtual Status document(Document document) = 0;
  virtual void problem(const InputProblem& problem) = 0;
};

}  // namespace casemate
