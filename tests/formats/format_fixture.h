// tests/formats/format_fixture.h
#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <string>
#include <utility>
#include <vector>

#include "casemate/formats/reader.h"
#include "support/collecting_sink.h"
#include "support/temporary_folder.h"

namespace casemate::test {

/// A folder for input files, and readers over it with the helper program of this build.
class FormatTest : public ::testing::Test {
 protected:
  FormatTest() { options_.reader_program = CASEMATE_READER_PROGRAM; }

  void write(const std::string& name, const std::string& bytes) { write_file(folder_.path(name), bytes); }
  /// Reads `name` of the folder ("" for the folder itself).
  void read(const std::string& name) {
    const auto summary = read_path(name.empty() ? folder_.root() : folder_.path(name), options_, sink_);
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(summary->documents, sink_.documents.size());
    EXPECT_EQ(summary->problems, sink_.problems.size());
  }
  /// Writes and reads one file, and gives its only document.
  Document only(const std::string& name, const std::string& bytes) {
    write(name, bytes);
    sink_ = {};
    read(name);
    EXPECT_EQ(sink_.documents.size(), 1U) << sink_.messages();
    return sink_.documents.empty() ? Document{} : sink_.documents.front();
  }
  /// Writes and reads one file, and gives the message of its only problem.
  std::string refusal(const std::string& name, const std::string& bytes) {
    write(name, bytes);
    sink_ = {};
    read(name);
    EXPECT_TRUE(sink_.documents.empty()) << name;
    EXPECT_EQ(sink_.problems.size(), 1U) << sink_.messages();
    if (sink_.problems.empty()) return {};
    EXPECT_TRUE(sink_.problems[0].error.message.starts_with(folder_.path(name))) << sink_.problems[0].error.message;
    return sink_.problems[0].error.message;
  }
  void write_zip(const std::string& name, const std::vector<std::pair<std::string, std::string>>& entries) {
    int error = 0;
    zip_t* archive = zip_open(folder_.path(name).c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
    ASSERT_NE(archive, nullptr);
    for (const auto& [entry, bytes] : entries) {
      zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
      ASSERT_GE(zip_file_add(archive, entry.c_str(), source, ZIP_FL_ENC_UTF_8), 0);
    }
    ASSERT_EQ(zip_close(archive), 0);
  }
  static std::string docx_xml(const std::string& body) {
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?><w:document "
           "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">"
           "<w:body>" +
           body + "</w:body></w:document>";
  }
  void write_docx(const std::string& name, const std::string& body) {
    write_zip(name, {{"word/document.xml", docx_xml(body)}});
  }

  TemporaryFolder folder_;
  ReadOptions options_;
  CollectingSink sink_;
};

}  // namespace casemate::test
