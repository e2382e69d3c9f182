#include "formats/markdown_html.h"

#include <md4c.h>

#include <cstdint>

namespace casemate {
namespace {

class Writer {
 public:
  Writer(std::string_view markdown, MarkdownHtml& out) : markdown_(markdown), out_(out) {}

  void tag(std::string_view html) {
    if (image_depth_ > 0) return;  // only text may be inside an alt attribute
    put(html, {at_, at_});
  }
  void open_image() {
    if (image_depth_++ == 0) put("<img alt=\"", {at_, at_});
  }
  void close_image() {
    if (--image_depth_ == 0) put("\">", {at_, at_});
  }
  void text(MD_TEXTTYPE type, std::string_view text) {
    switch (type) {
      case MD_TEXT_NULLCHAR:
        put("\xEF\xBF\xBD", {at_, at_});
        return;
      case MD_TEXT_BR:
        tag("<br>\n");
        return;
      case MD_TEXT_SOFTBR:
        put("\n", {at_, at_});
        return;
      case MD_TEXT_ENTITY:
        verbatim(text);
        return;
      case MD_TEXT_HTML:
        if (image_depth_ == 0) return verbatim(text);
        break;
      default:
        break;
    }
    escaped(text);
  }

 private:
  void put(std::string_view html, ByteSpan from) {
    out_.html += html;
    out_.offsets.append(html.size(), from);
  }
  /// The bytes of the Markdown that `text` is, or the present place where md4c made it.
  ByteSpan source_of(std::string_view text) {
    const auto begin = reinterpret_cast<std::uintptr_t>(markdown_.data());
    const auto here = reinterpret_cast<std::uintptr_t>(text.data());
    if (here < begin || here + text.size() > begin + markdown_.size()) return {at_, at_};
    const std::size_t from = here - begin;
    at_ = from + text.size();
    return {from, at_};
  }
  void verbatim(std::string_view text) {
    const ByteSpan from = source_of(text);
    put(text, from);
  }
  void escaped(std::string_view text) {
    const ByteSpan from = source_of(text);
    const bool known = !from.empty();
    std::size_t run = 0;
    const auto flush = [&](std::size_t end) {
      put(text.substr(run, end - run), known ? ByteSpan{from.begin + run, from.begin + end} : from);
      run = end + 1;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::string_view reference = text[i] == '&'   ? "&amp;"
                                         : text[i] == '<' ? "&lt;"
                                         : text[i] == '>' ? "&gt;"
                                         : text[i] == '"' ? "&quot;"
                                                          : "";
      if (reference.empty()) continue;
      flush(i);
      put(reference, known ? ByteSpan{from.begin + i, from.begin + i + 1} : from);
    }
    flush(text.size());
  }

  std::string_view markdown_;
  MarkdownHtml& out_;
  std::size_t at_ = 0;
  int image_depth_ = 0;
};

std::string_view block_tag(MD_BLOCKTYPE type) {
  switch (type) {
    case MD_BLOCK_QUOTE:
      return "blockquote";
    case MD_BLOCK_UL:
      return "ul";
    case MD_BLOCK_OL:
      return "ol";
    case MD_BLOCK_LI:
      return "li";
    case MD_BLOCK_CODE:
      return "pre";
    case MD_BLOCK_P:
      return "p";
    case MD_BLOCK_TABLE:
      return "table";
    case MD_BLOCK_THEAD:
      return "thead";
    case MD_BLOCK_TBODY:
      return "tbody";
    case MD_BLOCK_TR:
      return "tr";
    case MD_BLOCK_TH:
      return "th";
    case MD_BLOCK_TD:
      return "td";
    default:
      return {};
  }
}

std::string_view span_tag(MD_SPANTYPE type) {
  switch (type) {
    case MD_SPAN_EM:
      return "em";
    case MD_SPAN_STRONG:
      return "strong";
    case MD_SPAN_A:
      return "a";
    case MD_SPAN_CODE:
      return "code";
    case MD_SPAN_DEL:
      return "del";
    default:
      return {};
  }
}

void element(Writer& writer, std::string_view name, bool closing) {
  if (!name.empty()) writer.tag((closing ? "</" : "<") + std::string(name) + ">");
}

void heading(Writer& writer, const void* detail, bool closing) {
  element(writer, "h" + std::to_string(static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level), closing);
}

Writer& writer_of(void* user) { return *static_cast<Writer*>(user); }

int enter_block(MD_BLOCKTYPE type, void* detail, void* user) {
  if (type == MD_BLOCK_HR) {
    writer_of(user).tag("<hr>");
  } else if (type == MD_BLOCK_H) {
    heading(writer_of(user), detail, false);
  } else {
    element(writer_of(user), block_tag(type), false);
    // An HTML parser drops a line end right after <pre>; this one is put in for it.
    if (type == MD_BLOCK_CODE) writer_of(user).tag("\n");
  }
  return 0;
}

int leave_block(MD_BLOCKTYPE type, void* detail, void* user) {
  if (type == MD_BLOCK_H) {
    heading(writer_of(user), detail, true);
  } else {
    element(writer_of(user), block_tag(type), true);
  }
  return 0;
}

int enter_span(MD_SPANTYPE type, void*, void* user) {
  if (type == MD_SPAN_IMG) {
    writer_of(user).open_image();
  } else {
    element(writer_of(user), span_tag(type), false);
  }
  return 0;
}

int leave_span(MD_SPANTYPE type, void*, void* user) {
  if (type == MD_SPAN_IMG) {
    writer_of(user).close_image();
  } else {
    element(writer_of(user), span_tag(type), true);
  }
  return 0;
}

int text(MD_TEXTTYPE type, const MD_CHAR* begin, MD_SIZE size, void* user) {
  writer_of(user).text(type, std::string_view(begin, size));
  return 0;
}

}  // namespace

Result<MarkdownHtml> markdown_to_html(std::string_view markdown) {
  if (markdown.size() > std::size_t{1} << 31U) return Error{ErrorCode::kLimit, "Markdown over 2 GiB"};
  MarkdownHtml out;
  out.html.reserve(markdown.size() + markdown.size() / 8);
  Writer writer(markdown, out);
  MD_PARSER parser{};
  parser.flags = MD_DIALECT_GITHUB;
  parser.enter_block = enter_block;
  parser.leave_block = leave_block;
  parser.enter_span = enter_span;
  parser.leave_span = leave_span;
  parser.text = text;
  if (md_parse(markdown.data(), static_cast<MD_SIZE>(markdown.size()), &parser, &writer) != 0) {
    return Error{ErrorCode::kInvalidInput, "the Markdown parser gave up (out of memory)"};
  }
  return out;
}

}  // namespace casemate
