#include "formats/csv_record.h"

#include <utility>

namespace casemate {

int CsvRecordReader::take() {
  const int byte = stream_.next();
  if (byte == '\n') ++line_;
  return byte;
}

bool CsvRecordReader::at_line_end() {
  const int byte = stream_.peek();
  return byte < 0 || byte == '\n' || byte == '\r';
}

void CsvRecordReader::skip_line() {
  while (stream_.peek() >= 0) {
    if (take() == '\n') return;
  }
}

void CsvRecordReader::unquoted(CsvField& into) {
  const std::size_t begin = stream_.offset();
  while (!at_line_end() && stream_.peek() != static_cast<unsigned char>(delimiter_) &&
         into.value.size() <= max_bytes_) {
    into.value += static_cast<char>(take());
  }
  into.offsets.append(into.value.size(), {begin, begin + into.value.size()});
}

Status CsvRecordReader::quoted(CsvRecord& record, CsvField& into) {
  (void)take();
  for (;;) {
    const std::size_t at = stream_.offset();
    if (at - record_begin_ > max_bytes_) break;
    const int byte = take();
    if (byte < 0) return Error{ErrorCode::kInvalidInput, "a quote that is opened in this row is never closed"};
    if (byte != '"') {
      into.value += static_cast<char>(byte);
      into.offsets.append(1, {at, at + 1});
      continue;
    }
    if (stream_.peek() == '"') {
      (void)take();
      into.value += '"';
      into.offsets.append(1, {at, at + 2});
      continue;
    }
    if (at_line_end() || stream_.peek() == static_cast<unsigned char>(delimiter_)) return {};
    skip_line();
    return Error{ErrorCode::kInvalidInput, "there is text after the closing quote of column " +
                                               std::to_string(record.fields.size() + 1) +
                                               " (a quote inside a quoted field is written twice)"};
  }
  return {};  // too long: `next` says so
}

Status CsvRecordReader::field(CsvRecord& record) {
  CsvField field;
  field.begin = stream_.offset();
  if (quotes_ && stream_.peek() == '"') {
    if (const Status read = quoted(record, field); !read) return read;
  } else {
    unquoted(field);
  }
  record.fields.push_back(std::move(field));
  return {};
}

Result<bool> CsvRecordReader::next(CsvRecord& record) {
  record.fields.clear();
  while (stream_.peek() == '\n' || stream_.peek() == '\r') (void)take();
  if (stream_.peek() < 0) return false;
  record.line = line_;
  record_begin_ = stream_.offset();
  for (;;) {
    if (const Status read = field(record); !read) return read.error();
    if (stream_.offset() - record_begin_ > max_bytes_) {
      skip_line();
      return Error{ErrorCode::kLimit, "the row is longer than " + std::to_string(max_bytes_) +
                                          " bytes (limits.max_record_bytes), or a quote in it is never closed"};
    }
    if (at_line_end()) break;
    (void)take();  // the delimiter
  }
  record.bytes = {record_begin_, stream_.offset()};
  if (stream_.peek() == '\r') (void)take();
  if (stream_.peek() == '\n') (void)take();
  return true;
}

}  // namespace casemate
