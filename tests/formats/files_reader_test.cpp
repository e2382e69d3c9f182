#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <thread>

#include "casemate/core/file_system.h"
#include "formats/format_fixture.h"

namespace casemate {
namespace {

using test::find_finding;
using test::source_of;

class FilesReader : public test::FormatTest {};
class PdfReader : public test::FormatTest {
 protected:
  static std::string data(const std::string& name) {
    return std::string(CASEMATE_SOURCE_DIR) + "/tests/formats/data/" + name;
  }
};
class DocxReader : public test::FormatTest {};

TEST_F(FilesReader, AFolderIsReadInTheOrderOfItsNamesWithPathsAsIds) {
  std::filesystem::create_directories(folder_.path("sub/deep"));
  std::filesystem::create_directories(folder_.path(".git"));
  write("b.txt", "b");
  write("a.md", "a");
  write("sub/deep/c.txt", "c");
  write(".hidden.txt", "h");
  write(".git/config", "x");
  read("");
  ASSERT_EQ(sink_.documents.size(), 3U) << sink_.messages();
  EXPECT_EQ(sink_.documents[0].id, "a.md");
  EXPECT_EQ(sink_.documents[1].id, "b.txt");
  EXPECT_EQ(sink_.documents[2].id, "sub/deep/c.txt");
  EXPECT_TRUE(sink_.problems.empty());
  sink_ = {};
  read(".hidden.txt");
  EXPECT_EQ(sink_.documents.size(), 1U) << "a hidden file is read where it is named";
}

TEST_F(FilesReader, TheFormatIsToldByContentWhereTheNameSaysNothing) {
  EXPECT_EQ(only("page", "  <!DOCTYPE HTML><p>x").format, Format::kHtml);
  EXPECT_EQ(only("records", "{\"_id\":\"1\",\"text\":\"x\"}\n").format, Format::kJsonl);
  EXPECT_EQ(only("README", "plain").format, Format::kText);
  options_.format = Format::kText;
  EXPECT_EQ(only("page.html", "<p>x").text.bytes(), "<p>x");
}

TEST_F(FilesReader, FormatNamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(Format::kSquad); ++i) {
    const auto format = static_cast<Format>(i);
    EXPECT_EQ(*format_from_name(format_name(format)), format);
  }
  EXPECT_NE(format_from_name("doc").error().message.find("markdown"), std::string::npos);
}

TEST_F(FilesReader, AnErrorOfTheSinkEndsTheRun) {
  class Full final : public DocumentSink {
    Status document(Document) override { return Error{ErrorCode::kNoSpace, "full"}; }
    void problem(const InputProblem&) override {}
  } full;
  write("a.txt", "a");
  EXPECT_EQ(read_path(folder_.root(), options_, full).error().code, ErrorCode::kNoSpace);
}

TEST_F(FilesReader, OptionsOutOfRangeAreNamed) {
  options_.limits.max_nesting = 0;
  const auto summary = read_path(folder_.root(), options_, sink_);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kInvalidOption);
  EXPECT_NE(summary.error().message.find("limits.max_nesting"), std::string::npos);
}

TEST_F(FilesReader, TooManyDocumentsEndTheRun) {
  options_.limits.max_documents = 1;
  write("a.txt", "a");
  write("b.txt", "b");
  EXPECT_EQ(read_path(folder_.root(), options_, sink_).error().code, ErrorCode::kLimit);
  EXPECT_EQ(sink_.documents.size(), 1U);
}

TEST_F(PdfReader, PagesAreKnownByWhereTheyBegin) {
  const auto summary = read_path(data("two_pages.pdf"), options_, sink_);
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(sink_.documents.size(), 1U) << sink_.messages();
  const Document& document = sink_.documents[0];
  const std::string& text = document.text.bytes();
  ASSERT_EQ(document.pages.size(), 2U);
  EXPECT_EQ(document.pages[1].number, 2);
  EXPECT_LT(text.find("otters"), document.pages[1].begin);
  EXPECT_EQ(text.find("The second page"), document.pages[1].begin);
  EXPECT_EQ(document.source_unit, SourceUnit::kExtractedText);
}

TEST_F(PdfReader, TooManyPagesAndTooLongTextAreRefused) {
  options_.limits.max_pdf_pages = 1;
  (void)read_path(data("two_pages.pdf"), options_, sink_).ok();
  EXPECT_NE(sink_.messages().find("more than 1 pages"), std::string::npos) << sink_.messages();
  sink_ = {};
  options_ = {};
  options_.limits.child_output_bytes = 10;
  (void)read_path(data("two_pages.pdf"), options_, sink_).ok();
  EXPECT_NE(sink_.messages().find("limits.child_output_bytes"), std::string::npos) << sink_.messages();
}

TEST_F(PdfReader, ATextToolThatIsNotInstalledIsSaid) {
  options_.pdftotext_program = "/nowhere/pdftotext";
  (void)read_path(data("two_pages.pdf"), options_, sink_).ok();
  ASSERT_EQ(sink_.problems.size(), 1U);
  EXPECT_NE(sink_.messages().find("install poppler-utils"), std::string::npos);
  EXPECT_EQ(sink_.problems[0].error.code, ErrorCode::kUnavailable);
}

TEST_F(PdfReader, AStopEndsTheChildAndTheRunAtOnce) {
  write("endless", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(folder_.path("endless"), std::filesystem::perms::owner_all);
  options_.pdftotext_program = folder_.path("endless");
  std::stop_source stop;
  const std::jthread stopper([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto stopped = read_path(data("two_pages.pdf"), options_, sink_, stop.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(sink_.problems.empty()) << sink_.messages();
  EXPECT_EQ(read_path(folder_.root(), options_, sink_, stop.get_token()).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(sink_.documents.empty());
}

TEST_F(DocxReader, ParagraphsTablesAndTheirOffsets) {
  const std::string body =
      "<w:p><w:r><w:t>First &amp; </w:t></w:r><w:r><w:t xml:space=\"preserve\">foremost.</w:t></w:r></w:p>"
      "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></"
      "w:tr></w:tbl>"
      "<w:p><w:r><w:t>Last</w:t><w:br/><w:t>line</w:t></w:r></w:p>";
  write_docx("doc.docx", body);
  read("doc.docx");
  ASSERT_EQ(sink_.documents.size(), 1U) << sink_.messages();
  const Document& document = sink_.documents[0];
  EXPECT_EQ(document.text.bytes(), "First & foremost.\na\tb\n\nLast\nline\n");
  EXPECT_EQ(source_of(document, docx_xml(body), "& fore"), "&amp; </w:t></w:r><w:r><w:t xml:space=\"preserve\">fore");
  EXPECT_EQ(source_of(document, docx_xml(body), "Last"), "Last");
  EXPECT_EQ(document.source_unit, SourceUnit::kDocumentXml);
}

TEST_F(DocxReader, HiddenAndDeletedTextIsKeptOutAndReported) {
  write_zip("doc.docx",
            {{"word/styles.xml",
              "<w:styles xmlns:w=\"x\"><w:style w:styleId=\"Base\"><w:rPr><w:vanish/></w:rPr></w:style>"
              "<w:style w:styleId=\"Ghost\"><w:basedOn w:val=\"Base\"/></w:style></w:styles>"},
             {"word/document.xml", docx_xml("<w:p><w:r><w:t>seen</w:t></w:r>"
                                            "<w:r><w:rPr><w:vanish/></w:rPr><w:t>SECRET</w:t></w:r>"
                                            "<w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t> shown</w:t></w:r>"
                                            "<w:r><w:rPr><w:color w:val=\"FFFFFF\"/></w:rPr><w:t>SECRET</w:t></w:r>"
                                            "<w:r><w:rPr><w:sz w:val=\"2\"/></w:rPr><w:t>SECRET</w:t></w:r>"
                                            "<w:r><w:rPr><w:rStyle w:val=\"Ghost\"/></w:rPr><w:t>SECRET</w:t></w:r>"
                                            "<w:del><w:r><w:delText>GONE</w:delText></w:r></w:del></w:p>")}});
  read("doc.docx");
  ASSERT_EQ(sink_.documents.size(), 1U) << sink_.messages();
  EXPECT_EQ(sink_.documents[0].text.bytes(), "seen shown\n");
  int hidden = 0;
  for (const Finding& finding : sink_.documents[0].findings) hidden += finding.kind == FindingKind::kHiddenText ? 1 : 0;
  EXPECT_EQ(hidden, 4);
  ASSERT_NE(find_finding(sink_.documents[0], FindingKind::kDeletedText), nullptr);
  EXPECT_EQ(find_finding(sink_.documents[0], FindingKind::kDeletedText)->excerpt.bytes(), "GONE");
}

}  // namespace
}  // namespace casemate
