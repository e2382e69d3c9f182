#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "formats/readers.h"

namespace casemate {
namespace {

constexpr std::size_t kHeadBytes = 64 * 1024;

constexpr std::array<std::string_view, 10> kNames = {"auto", "text", "markdown", "html",  "pdf",
                                                     "docx", "csv",  "tsv",      "jsonl", "squad"};

std::string extension_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name = name.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  std::string extension(dot == std::string_view::npos || dot == 0 ? std::string_view{} : name.substr(dot + 1));
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

Format by_extension(std::string_view extension) {
  static constexpr std::array<std::pair<std::string_view, Format>, 17> kExtensions = {{{"txt", Format::kText},
                                                                                       {"text", Format::kText},
                                                                                       {"log", Format::kText},
                                                                                       {"rst", Format::kText},
                                                                                       {"md", Format::kMarkdown},
                                                                                       {"markdown", Format::kMarkdown},
                                                                                       {"mdown", Format::kMarkdown},
                                                                                       {"html", Format::kHtml},
                                                                                       {"htm", Format::kHtml},
                                                                                       {"xhtml", Format::kHtml},
                                                                                       {"pdf", Format::kPdf},
                                                                                       {"docx", Format::kDocx},
                                                                                       {"csv", Format::kCsv},
                                                                                       {"tsv", Format::kTsv},
                                                                                       {"jsonl", Format::kJsonl},
                                                                                       {"ndjson", Format::kJsonl},
                                                                                       {"json", Format::kSquad}}};
  for (const auto& [name, format] : kExtensions) {
    if (extension == name) return format;
  }
  return Format::kAuto;
}

/// Kinds of content that are no text, by their first bytes.
std::string_view binary_kind(std::string_view head) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kMagic = {
      {{"\x1F\x8B", "gzip data"},
       {"\x89PNG", "a PNG picture"},
       {"\xFF\xD8\xFF", "a JPEG picture"},
       {"GIF8", "a GIF picture"},
       {"\x7F"
        "ELF",
        "a program"},
       {"\xD0\xCF\x11\xE0", "an old Office file, or a DOCX with a password"},
       {"BZh", "bzip2 data"},
       {"\xFD"
        "7zXZ",
        "xz data"},
       {"SQLite format 3", "an SQLite database"}}};
  for (const auto& [magic, kind] : kMagic) {
    if (head.starts_with(magic)) return kind;
  }
  return {};
}

std::string_view wide_encoding(std::string_view head) {
  using namespace std::string_view_literals;
  if (head.starts_with("\xFF\xFE\0\0"sv) || head.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) return "UTF-16";
  // Without a mark: Latin text as UTF-16 has a NUL in every other byte.
  std::size_t even = 0;
  std::size_t odd = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') ++(i % 2 == 0 ? even : odd);
  }
  const std::size_t pairs = head.size() / 2;
  if (pairs >= 8 && ((even * 10 > pairs * 9 && odd == 0) || (odd * 10 > pairs * 9 && even == 0))) return "UTF-16";
  return {};
}

bool is_binary(std::string_view head) {
  if (head.empty()) return false;
  std::size_t controls = 0;
  std::size_t nuls = 0;
  for (const char c : head) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) ++nuls;
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t' && byte != '\f' && byte != 0x1B) ++controls;
  }
  // One stray NUL is a finding, not a binary file.
  return nuls * 200 > head.size() || (nuls > 8) || controls * 10 > head.size();
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
         });
}

Format by_content(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  while (!head.empty() && (head[0] == ' ' || head[0] == '\n' || head[0] == '\r' || head[0] == '\t'))
    head.remove_prefix(1);
  if (starts_with_ignoring_case(head, "<!doctype html") || starts_with_ignoring_case(head, "<html"))
    return Format::kHtml;
  if (head.starts_with('{')) {
    std::string_view line = head.substr(0, head.find('\n'));
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with('}') && line.size() > 2 && line.find('"') < 3) return Format::kJsonl;
    if (head.find("\"paragraphs\"") != std::string_view::npos) return Format::kSquad;
  }
  return Format::kText;
}

Error refused(const Source& source, ErrorCode code, std::string_view what) {
  return Error{code, at_place(source.path, 0, what)};
}

}  // namespace

std::string_view format_name(Format format) noexcept { return kNames.at(static_cast<std::size_t>(format)); }

Result<Format> format_from_name(std::string_view name) {
  std::string all;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames.at(i) == name) return static_cast<Format>(i);
    all += (i == 0 ? "" : ", ") + std::string(kNames.at(i));
  }
  return Error{ErrorCode::kInvalidOption,
               "format: \"" + UntrustedText(std::string(name)).for_log() + "\" is none of " + all};
}

Result<Format> detect_format(const Source& source, Format forced) {
  const auto head = source.file.head(kHeadBytes);
  if (!head) return head.error();
  const std::string extension = extension_of(source.name);
  Format format = forced != Format::kAuto ? forced : by_extension(extension);
  const bool is_pdf = head->substr(0, 1024).find("%PDF-") != std::string::npos && !head->starts_with("<");
  const bool is_zip = head->starts_with("PK\x03\x04") || head->starts_with("PK\x05\x06");
  if (format == Format::kAuto && head->starts_with("%PDF-")) format = Format::kPdf;
  if (format == Format::kAuto && is_zip) {
    if (extension != "zip")
      return refused(source, ErrorCode::kUnsupported,
                     "is a zip file; only .docx, and .zip with a SQuAD JSON in it, are read");
    format = Format::kSquad;
  }
  if (head->empty()) return format == Format::kAuto ? Format::kText : format;
  if (format == Format::kPdf) {
    if (!is_pdf) return refused(source, ErrorCode::kInvalidInput, "is not a PDF: \"%PDF-\" is missing at its start");
    return format;
  }
  if (format == Format::kDocx) {
    if (is_zip) return format;
    const std::string_view kind = binary_kind(*head);
    return refused(source, ErrorCode::kInvalidInput,
                   "is not a DOCX (a zip file)" + (kind.empty() ? "" : ": it is " + std::string(kind)));
  }
  if (format == Format::kSquad && is_zip) return format;
  // What is left is text of some kind.
  if (const std::string_view wide = wide_encoding(*head); !wide.empty()) {
    return refused(
        source, ErrorCode::kUnsupported,
        "is in " + std::string(wide) + "; convert it to UTF-8 first (iconv -f " + std::string(wide) + " -t UTF-8)");
  }
  std::string_view kind = head->starts_with("%PDF-") ? "a PDF" : is_zip ? "a zip file" : binary_kind(*head);
  if (kind.empty() && is_binary(*head)) kind = "binary";
  if (!kind.empty()) {
    return refused(source, ErrorCode::kUnsupported,
                   "is " + std::string(kind) + ", not " +
                       (format == Format::kAuto ? "a format that is read" : std::string(format_name(format))));
  }
  return format == Format::kAuto ? by_content(*head) : format;
}

}  // namespace casemate
