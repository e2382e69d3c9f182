#include <pugixml.hpp>
#include <set>
#include <string>
#include <utility>

#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"
#include "formats/docx_styles.h"
#include "formats/entity_alignment.h"
#include "formats/readers.h"
#include "formats/zip_entry.h"

namespace casemate {
namespace {

/// Reads the body of word/document.xml in document order, without recursion.
class Body {
 public:
  Body(const std::string& xml, std::set<std::string, std::less<>> hidden_styles, int max_nesting)
      : xml_(xml), hidden_styles_(std::move(hidden_styles)), max_nesting_(max_nesting) {}

  Status read(const pugi::xml_document& document) {
    pugi::xml_node node = document.document_element();
    if (local_name(node.name()) != "document")
      return Error{ErrorCode::kInvalidInput, "word/document.xml is not a Word document"};
    int depth = 1;
    while (node) {
      if (depth > max_nesting_) {
        return Error{ErrorCode::kLimit,
                     "its XML nests deeper than " + std::to_string(max_nesting_) + " (limits.max_nesting)"};
      }
      const bool inside = enter(node);
      if (inside && node.first_child()) {
        node = node.first_child();
        ++depth;
        continue;
      }
      leave(node);
      while (node && !node.next_sibling()) {
        node = node.parent();
        --depth;
        if (node) leave(node);
      }
      node = node ? node.next_sibling() : node;
    }
    flush_hidden();
    return {};
  }

  std::string text_;
  OffsetMap offsets_;
  FindingCollector findings_;

 private:
  /// False where what is in the node is not to be read.
  bool enter(const pugi::xml_node& node) {
    const std::string_view name = local_name(node.name());
    if (name == "p") {
      const std::string_view style = value_of(child_of(child_of(node, "pPr"), "pStyle"));
      paragraph_hidden_ = hidden_styles_.contains(style);
    } else if (name == "r") {
      const pugi::xml_node properties = child_of(node, "rPr");
      reason_ = hidden_run_reason(properties);
      const bool by_style = paragraph_hidden_ || hidden_styles_.contains(value_of(child_of(properties, "rStyle")));
      if (reason_.empty() && by_style) reason_ = "hidden text (style)";
    } else if (name == "tab") {
      put("\t");
    } else if (name == "br" || name == "cr") {
      put("\n");
    } else if (name == "noBreakHyphen") {
      put("-");
    } else if (name == "t" || name == "delText") {
      texts(node, name == "delText");
      return false;
    }
    // Fallback repeats what Choice says; the others hold no text of the document.
    return name != "Fallback" && name != "rPr" && name != "pPr" && name != "instrText" && name != "sectPr" &&
           name != "tblPr";
  }

  void leave(const pugi::xml_node& node) {
    const std::string_view name = local_name(node.name());
    if (name == "p") put(in_cell(node) && !node.next_sibling() ? "" : "\n");
    if (name == "tc" && node.next_sibling()) put("\t");
    if (name == "tr" || name == "tbl") put("\n");
  }

  static bool in_cell(const pugi::xml_node& paragraph) { return local_name(paragraph.parent().name()) == "tc"; }

  void put(std::string_view separator) {
    if (text_.empty() || separator.empty()) return;
    if (separator == "\n" && text_.ends_with("\n\n")) return;
    text_ += separator;
    const std::size_t at = offsets_.to_source({offsets_.text_size(), offsets_.text_size()}).end;
    offsets_.append(separator.size(), {at, at});
  }

  void texts(const pugi::xml_node& node, bool deleted) {
    for (const pugi::xml_node child : node.children()) {
      if (child.type() != pugi::node_pcdata && child.type() != pugi::node_cdata) continue;
      const std::string_view words = child.value();
      const auto begin = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, child.offset_debug()));
      const std::size_t end = std::min(xml_.find(child.type() == pugi::node_cdata ? "]]>" : "<", begin), xml_.size());
      const std::string reason = deleted ? "deleted by a tracked change" : reason_;
      if (!reason.empty()) {
        hide(deleted ? FindingKind::kDeletedText : FindingKind::kHiddenText, reason, words, {begin, end});
        continue;
      }
      flush_hidden();
      text_ += words;
      align_decoded(std::string_view(xml_).substr(begin, end - begin), begin, words, offsets_);
    }
  }

  /// Word cuts a sentence into many runs; those that follow each other are one finding.
  void hide(FindingKind kind, const std::string& reason, std::string_view words, ByteSpan source) {
    if (!hidden_.empty() && (hidden_finding_.kind != kind || hidden_finding_.note != reason)) flush_hidden();
    if (hidden_.empty()) hidden_finding_ = Finding{kind, source, 1, {}, reason};
    hidden_finding_.source.end = source.end;
    if (hidden_.size() < kMaxExcerptBytes) hidden_ += words.substr(0, 4 * kMaxExcerptBytes);
  }

  void flush_hidden() {
    if (!trimmed(hidden_, {0, hidden_.size()}).empty()) {
      if (looks_like_instruction(hidden_)) hidden_finding_.note += "; reads like an instruction to a model";
      hidden_finding_.excerpt = UntrustedText(std::string(utf8_prefix(hidden_, kMaxExcerptBytes)));
      findings_.add(std::move(hidden_finding_));
    }
    hidden_.clear();
  }

  const std::string& xml_;
  std::set<std::string, std::less<>> hidden_styles_;
  int max_nesting_;
  std::string reason_;
  bool paragraph_hidden_ = false;
  std::string hidden_;
  Finding hidden_finding_;
};

Status load(pugi::xml_document& document, const std::string& xml, std::string_view part) {
  // Office never writes a document type; entities of one are how XML bombs are built.
  if (xml.find("<!DOCTYPE") != std::string::npos || xml.find("<!ENTITY") != std::string::npos) {
    return Error{ErrorCode::kInvalidInput,
                 std::string(part) + " declares a document type or entities, which no DOCX has"};
  }
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata, pugi::encoding_utf8);
  if (parsed) return {};
  return Error{ErrorCode::kInvalidInput, std::string(part) + " is broken XML at byte " + std::to_string(parsed.offset) +
                                             ": " + parsed.description()};
}

Status read_body(const Source& source, const ReadLimits& limits, Document& document) {
  const ZipLimits zip{limits.max_unzipped_bytes, limits.max_zip_ratio};
  const auto part = [&](std::string_view name) {
    return read_zip_entry(
        source.path, [name](std::string_view entry) { return entry == name; }, zip);
  };
  const auto xml = part("word/document.xml");
  if (!xml && xml.error().code == ErrorCode::kNotFound)
    return Error{ErrorCode::kInvalidInput, "is not a DOCX: it has no word/document.xml"};
  if (!xml) return xml.error();
  pugi::xml_document tree;
  if (const Status loaded = load(tree, *xml, "word/document.xml"); !loaded) return loaded;
  std::set<std::string, std::less<>> hidden;
  if (const auto styles_xml = part("word/styles.xml")) {
    pugi::xml_document styles;
    if (const Status loaded = load(styles, *styles_xml, "word/styles.xml"); !loaded) return loaded;
    hidden = hidden_styles(styles);
  } else if (styles_xml.error().code != ErrorCode::kNotFound) {
    return styles_xml.error();
  }
  Body body(*xml, std::move(hidden), limits.max_nesting);
  if (const Status read = body.read(tree); !read) return read;
  document.findings = std::move(body.findings_).take();
  set_text(document, body.text_, body.offsets_);
  return {};
}

}  // namespace

Status read_docx(const Source& source, ReadContext& context) {
  if (source.file.size() > context.limits().max_file_bytes) {
    context.problem(
        source.path, 0, ErrorCode::kLimit,
        "over the limit of " + std::to_string(context.limits().max_file_bytes) + " bytes (limits.max_file_bytes)");
    return {};
  }
  Document document = new_document(source, Format::kDocx);
  document.source_unit = SourceUnit::kDocumentXml;
  if (const Status read = read_body(source, context.limits(), document); !read) {
    context.problem(source.path, 0, read.error().code, read.error().message);
    return {};
  }
  return context.emit(std::move(document));
}

}  // namespace casemate
