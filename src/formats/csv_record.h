// formats/csv_record.h
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/text/offset_map.h"
#include "formats/record_stream.h"

namespace casemate {

struct CsvField {
  std::string value;
  OffsetMap offsets;  ///< value -> bytes of the file
  std::size_t begin = 0;
};

struct CsvRecord {
  std::vector<CsvField> fields;
  std::size_t line = 0;  ///< its first line, from 1
  ByteSpan bytes;        ///< in the file, without the line end
};

/// Reads delimited records one by one. CSV by RFC 4180: fields may be quoted, "" is a quote, quoted fields may hold
/// line ends; a quote inside an unquoted field is an ordinary character. TSV: no quoting, as IANA defines it.
class CsvRecordReader {
 public:
  CsvRecordReader(ByteStream& stream, char delimiter, bool quotes, std::size_t max_bytes)
      : stream_(stream), delimiter_(delimiter), quotes_(quotes), max_bytes_(max_bytes) {}

  /// The next record; false at the end. Empty lines are passed over. Error: InvalidInput or Limit, without a place (see
  /// `record.line`); the reader has passed over the rest of that line, and can go on.
  [[nodiscard]] Result<bool> next(CsvRecord& record);

 private:
  [[nodiscard]] Status field(CsvRecord& record);
  [[nodiscard]] Status quoted(CsvRecord& record, CsvField& into);
  void unquoted(CsvField& into);
  void skip_line();
  int take();
  [[nodiscard]] bool at_line_end();

  ByteStream& stream_;
  char delimiter_;
  bool quotes_;
  std::size_t max_bytes_;
  std::size_t line_ = 1;
  std::size_t record_begin_ = 0;
};

}  // namespace casemate
