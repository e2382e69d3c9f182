// Broken and hostile files, made here: each is a clear message with the file's name, and the rest of the folder is
// read.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "casemate/core/file_system.h"
#include "formats/format_fixture.h"

namespace casemate {
namespace {

using test::find_finding;

class HostileInput : public test::FormatTest {
 protected:
  /// Reads the folder, which must give the harmless neighbour too, and checks the one problem's message.
  void expect_refused(const std::string& name, const std::string& says) {
    write("zz_neighbour.txt", "harmless");
    sink_ = {};
    read("");
    EXPECT_NE(sink_.find("zz_neighbour.txt"), nullptr) << "the rest was not read";
    EXPECT_EQ(sink_.documents.size(), 1U) << name;
    ASSERT_EQ(sink_.problems.size(), 1U) << sink_.messages();
    const std::string& message = sink_.problems[0].error.message;
    EXPECT_TRUE(message.starts_with(folder_.path(name))) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
  }
  void refuse(const std::string& name, const std::string& bytes, const std::string& says) {
    write(name, bytes);
    expect_refused(name, says);
    std::filesystem::remove(folder_.path(name));
  }
  static std::string repeat(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  }
};

TEST_F(HostileInput, EmptyFilesOfEachFormat) {
  refuse("a.txt", "", "no text");
  refuse("a.md", "", "no text");
  refuse("a.html", "", "no text");
  refuse("a.csv", "", "empty");
  refuse("a.jsonl", "", "empty");
  refuse("a.json", "", "not valid JSON");
  refuse("a.txt", " \n\t\n", "no text");
}

TEST_F(HostileInput, ALineOfAGigabyteIsPassedOverWithoutLoadingIt) {
  // The beginning is long enough to look like text; the rest is a hole in the file.
  write("big.jsonl", "{\"_id\":\"a\",\"text\":\"first\"}\n{\"_id\":\"b\",\"text\":\"" + std::string(100'000, 'x'));
  std::filesystem::resize_file(folder_.path("big.jsonl"), std::uintmax_t{1} << 30U);
  std::ofstream(folder_.path("big.jsonl"), std::ios::app | std::ios::binary) << "\n{\"_id\":\"c\",\"text\":\"last\"}\n";
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  read("");
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(sink_.documents.size(), 2U);
  EXPECT_NE(sink_.find("c"), nullptr);
  ASSERT_EQ(sink_.problems.size(), 1U) << sink_.messages();
  EXPECT_TRUE(sink_.messages().starts_with(folder_.path("big.jsonl") + ":2: the line is longer than"));
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100'000) << "KiB";
}

TEST_F(HostileInput, ALongLineOfTextIsPassedOverAndTheNextIsRead) {
  options_.limits.max_record_bytes = 1000;
  write("long.jsonl", "{\"_id\":\"a\",\"text\":\"" + std::string(2000, 'x') + "\"}\n{\"_id\":\"b\",\"text\":\"y\"}\n");
  read("long.jsonl");
  EXPECT_NE(sink_.find("b"), nullptr);
  ASSERT_EQ(sink_.problems.size(), 1U);
  EXPECT_EQ(sink_.problems[0].line, 1U);
  EXPECT_EQ(sink_.problems[0].error.code, ErrorCode::kLimit);
}

TEST_F(HostileInput, AHugeTextFileIsRefusedByItsSize) {
  write("huge.txt", "x");
  std::filesystem::resize_file(folder_.path("huge.txt"), 2000);
  write("huge.txt", std::string(2000, 'x'));
  options_.limits.max_file_bytes = 1000;
  expect_refused("huge.txt", "limits.max_file_bytes");
}

TEST_F(HostileInput, BinaryContentUnderATextNameIsRefusedByName) {
  refuse("a.txt",
         std::string("\x7F"
                     "ELF\2\1\1\0\0\0",
                     10) +
             std::string(500, '\0'),
         "a program");
  refuse("a.txt", std::string("ab\0\1\2\3", 6) + std::string(300, '\1'), "binary");
  refuse("a.md", "%PDF-1.4\nxx", "a PDF");
  refuse("a.pdf", "no pdf", "not a PDF");
  refuse("a.docx", "no zip", "not a DOCX");
  refuse("a.docx", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "password");
  refuse("a.png", "\x89PNG\r\n\x1A\n", "a PNG picture");
  refuse("a.gz", "\x1F\x8B\x08", "gzip");
}

TEST_F(HostileInput, Utf16IsRefusedWithTheRemedy) {
  std::string wide;
  for (const char c : std::string("plain text in UTF-16")) wide += std::string{c, '\0'};
  refuse("a.txt", "\xFF\xFE" + wide, "UTF-16; convert it to UTF-8");
  refuse("a.txt", wide, "UTF-16");
  refuse("a.csv", "\xFE\xFF" + wide, "UTF-16");
}

TEST_F(HostileInput, InvalidUtf8AndMarksAreReadAndReported) {
  const Document text = only("a.txt",
                             "\xEF\xBB\xBF"
                             "caf\xE9 ok");
  EXPECT_EQ(text.text.bytes(), "caf\xEF\xBF\xBD ok");
  ASSERT_NE(find_finding(text, FindingKind::kInvalidUtf8), nullptr);
  EXPECT_EQ(find_finding(text, FindingKind::kInvalidUtf8)->source, (ByteSpan{6, 7}));
  const std::string source = "<p>caf\xE9 ok";
  const Document page = only("a.html", source);
  EXPECT_EQ(page.text.bytes(), "caf\xEF\xBF\xBD ok");
  EXPECT_EQ(test::source_of(page, source, "ok"), "ok");
  EXPECT_NE(find_finding(page, FindingKind::kInvalidUtf8), nullptr);
}

TEST_F(HostileInput, DeeplyNestedHtmlEndsInTheHelper) {
  options_.limits.child_timeout_ms = 1500;
  write("bomb.html", repeat("<div>", 100'000) + "x");
  write("zz_neighbour.txt", "harmless");
  read("");
  EXPECT_EQ(sink_.documents.size(), 1U);
  ASSERT_EQ(sink_.problems.size(), 1U) << sink_.messages();
  const ErrorCode code = sink_.problems[0].error.code;
  EXPECT_TRUE(code == ErrorCode::kLimit || code == ErrorCode::kTimeout || code == ErrorCode::kInvalidInput)
      << sink_.messages();
  EXPECT_NE(sink_.messages().find("bomb.html"), std::string::npos);
  std::filesystem::remove(folder_.path("bomb.html"));
  refuse("deep.html", repeat("<b>", 600) + "x", "limits.max_nesting");
  refuse("deep.md", repeat("> ", 600) + "x", "limits.max_nesting");
}

TEST_F(HostileInput, TenMegabytesOfAttributesAreJustAPage) {
  const Document page = only("attributes.html", "<p " + repeat("a='" + std::string(1000, 'b') + "' ", 10'000) +
                                                    ">x</p><p title='" + std::string(10'000'000, 'y') + "'>z");
  EXPECT_EQ(page.text.bytes(), "x\n\nz");
  ASSERT_NE(find_finding(page, FindingKind::kAltFlood), nullptr);
  EXPECT_LE(find_finding(page, FindingKind::kAltFlood)->excerpt.size(), kMaxExcerptBytes);
}

TEST_F(HostileInput, AHelperThatAnswersNonsenseIsNotBelieved) {
  const std::string program = folder_.path("liar");
  for (const std::string answer :
       {"", "CASEMATE-MARKUP-1\\n",
        "CASEMATE-MARKUP-1\\n\\377\\377\\377\\377\\377\\377\\377\\377aaaaaaaaaaaaaaaaaaaaaaaa"}) {
    test::write_file(program, "#!/bin/sh\ncat > /dev/null\nprintf '" + answer + "'\n");
    ::chmod(program.c_str(), 0755);
    options_.reader_program = program;
    EXPECT_NE(refusal("a.html", "<p>x").find("makes no sense"), std::string::npos);
  }
}

TEST_F(HostileInput, EncryptedAndBrokenPdfsAreNamed) {
  const auto data = [](const std::string& name) {
    return *read_file(std::string(CASEMATE_SOURCE_DIR) + "/tests/formats/data/" + name);
  };
  refuse("a.pdf", data("encrypted.pdf"), "is encrypted");
  refuse("a.pdf", "%PDF-1.4\n" + std::string(1000, 'x'), "broken PDF");
  refuse("a.pdf", data("two_pages.pdf").substr(0, 60), "broken PDF");
}

TEST_F(HostileInput, ZipBombsAreStoppedByRatioAndBySize) {
  write_docx("bomb.docx", "<w:p><w:r><w:t>" + std::string(30'000'000, 'a') + "</w:t></w:r></w:p>");
  expect_refused("bomb.docx", "limits.max_zip_ratio");
  options_.limits.max_unzipped_bytes = 500'000;
  expect_refused("bomb.docx", "limits.max_unzipped_bytes");
}

TEST_F(HostileInput, TrickyDocxFilesAreRefused) {
  write_zip("a.docx", {{"word/document.xml",
                        "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><w:document "
                        "xmlns:w='x'><w:body>&b;</w:body></w:document>"}});
  expect_refused("a.docx", "document type");
  write_zip("a.docx", {{"../../word/document.xml", docx_xml("<w:p><w:r><w:t>x</w:t></w:r></w:p>")}});
  expect_refused("a.docx", "no word/document.xml");
  write_zip("a.docx", {{"word/document.xml", "<w:document><w:body><w:p>"}});
  expect_refused("a.docx", "broken XML");
  write_docx("a.docx", repeat("<w:p>", 700) + repeat("</w:p>", 700));
  expect_refused("a.docx", "limits.max_nesting");
  write_docx("a.docx", "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>ONLY HIDDEN</w:t></w:r></w:p>");
  expect_refused("a.docx", "ONLY HIDDEN");
  std::string cut = *read_file(folder_.path("a.docx"));
  write("a.docx", cut.substr(0, cut.size() / 2));
  expect_refused("a.docx", "broken zip");
}

TEST_F(HostileInput, DeepAndBrokenJson) {
  refuse("a.jsonl", "{\"_id\":\"a\",\"text\":\"x\",\"m\":" + repeat("[", 1'000'000) + repeat("]", 1'000'000) + "}",
         "limits.max_nesting");
  refuse("a.json", repeat("{\"a\":", 1'000'000), "limits.max_nesting");
  refuse("a.jsonl", "{\"_id\":\"a\",\"text\":\"\\ud800\"}", "not valid JSON");
}

TEST_F(HostileInput, LinksThatLoopLeaveOrLeadNowhere) {
  std::filesystem::create_directories(folder_.path("sub"));
  std::filesystem::create_directory_symlink(folder_.root(), folder_.path("sub/loop"));
  expect_refused("sub/loop", "same folder");
  std::filesystem::remove(folder_.path("sub/loop"));
  std::filesystem::create_symlink("/etc/hostname", folder_.path("out.txt"));
  expect_refused("out.txt", "leads out of");
  std::filesystem::remove(folder_.path("out.txt"));
  std::filesystem::create_symlink("nowhere", folder_.path("broken.txt"));
  expect_refused("broken.txt", "cannot follow the link");
  std::filesystem::remove(folder_.path("broken.txt"));
  std::filesystem::create_symlink("self.txt", folder_.path("self.txt"));
  expect_refused("self.txt", "Too many levels");
}

TEST_F(HostileInput, AFifoIsRefusedAndNeverWaitedFor) {
  ASSERT_EQ(::mkfifo(folder_.path("pipe.txt").c_str(), 0600), 0);
  const auto start = std::chrono::steady_clock::now();
  expect_refused("pipe.txt", "a FIFO");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(HostileInput, AMissingPathIsAProblemAndTheOthersAreRead) {
  write("a.txt", "a");
  const std::string paths[] = {folder_.path("missing"), folder_.path("a.txt")};
  ASSERT_TRUE(read_paths(paths, options_, sink_).ok());
  EXPECT_EQ(sink_.documents.size(), 1U);
  ASSERT_EQ(sink_.problems.size(), 1U);
  EXPECT_EQ(sink_.problems[0].error.code, ErrorCode::kNotFound);
}

TEST_F(HostileInput, AnUnreadableFolderIsAProblem) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  std::filesystem::create_directories(folder_.path("closed"));
  ::chmod(folder_.path("closed").c_str(), 0);
  expect_refused("closed", "Permission denied");
  ::chmod(folder_.path("closed").c_str(), 0755);
}

TEST_F(HostileInput, TheSameIdInTwoFilesKeepsTheFirst) {
  write("a.jsonl", "{\"_id\":\"x\",\"text\":\"first\"}\n");
  write("b.jsonl", "\n{\"_id\":\"x\",\"text\":\"second\"}\n{\"_id\":\"y\",\"text\":\"third\"}\n");
  read("");
  ASSERT_EQ(sink_.documents.size(), 2U);
  EXPECT_EQ(sink_.find("x")->text.bytes(), "first");
  ASSERT_EQ(sink_.problems.size(), 1U);
  EXPECT_EQ(sink_.problems[0].line, 2U);
  EXPECT_NE(sink_.messages().find(folder_.path("a.jsonl") + ":1"), std::string::npos) << sink_.messages();
}

TEST_F(HostileInput, FileNamesAreEscapedInMessages) {
  write("bad\x1b[31m\n.txt", "");
  read("");
  ASSERT_EQ(sink_.problems.size(), 1U);
  EXPECT_EQ(sink_.messages().find('\x1b'), std::string::npos);
  EXPECT_NE(sink_.messages().find("bad\\u{1b}[31m\\u{a}.txt"), std::string::npos) << sink_.messages();
}

}  // namespace
}  // namespace casemate
