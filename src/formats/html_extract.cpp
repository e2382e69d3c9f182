#include "formats/html_extract.h"

#include <gumbo.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/utf8.h"
#include "casemate/text/segmentation.h"
#include "formats/css.h"
#include "formats/entity_alignment.h"
#include "formats/flow_text.h"
#include "formats/html_tags.h"
#include "formats/visibility.h"

namespace casemate {
namespace {

constexpr std::size_t kLongAltBytes = 250;
constexpr int kShown = -1;

std::string_view attribute(const GumboElement& element, const char* name) {
  const GumboAttribute* found = gumbo_get_attribute(&element.attributes, name);
  return found == nullptr ? std::string_view{} : std::string_view(found->value);
}

bool has_attribute(const GumboElement& element, const char* name) {
  return gumbo_get_attribute(&element.attributes, name) != nullptr;
}

std::string tag_name_of(const GumboElement& element) {
  if (element.tag != GUMBO_TAG_UNKNOWN) return gumbo_normalized_tagname(element.tag);
  GumboStringPiece piece = element.original_tag;
  if (piece.data == nullptr) return {};
  gumbo_tag_from_original_text(&piece);
  std::string name(piece.data, piece.length);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return name;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size() && words.size() < 64) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\r\f", at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// Text that is not shown, gathered under the element where it began.
struct HiddenGroup {
  FindingKind kind = FindingKind::kHiddenHtml;
  std::string reason;
  ByteSpan source;
  std::string excerpt;
  bool kept_in_text = false;
};

/// An open element of the walk.
struct Frame {
  const GumboNode* node = nullptr;
  unsigned next_child = 0;
  std::string tag_name;
  StyledElement styled;
  TextStyle style;
  std::string text_reason;  ///< why text directly in it is not seen
  int box_group = kShown;   ///< hidden as a whole, by it or by an element around it
  int text_group = kShown;  ///< hidden by an inherited style
  int aria_group = kShown;
  bool pre = false;
  bool title = false;
  bool heading = false;  ///< in the first <h1>
  bool dropped = false;
};

class Extraction {
 public:
  Extraction(std::string_view html, int max_nesting)
      : html_(html), max_nesting_(static_cast<std::size_t>(max_nesting)) {}

  Result<MarkupResult> run(const GumboOutput& page) {
    if (const Status sheets = walk(page, [this](const Frame& frame) { read_style(frame); }); !sheets)
      return sheets.error();
    collecting_ = true;
    if (const Status texts = walk(page, [](const Frame&) {}); !texts) return texts.error();
    for (HiddenGroup& group : groups_) {
      if (trimmed(group.excerpt, {0, group.excerpt.size()}).empty()) continue;
      std::string note = group.reason;
      if (looks_like_instruction(group.excerpt)) note += "; reads like an instruction to a model";
      findings_.add({group.kind, group.source, 1, excerpt(group.excerpt), std::move(note)});
    }
    MarkupResult result;
    result.title = title_.text().empty() ? heading_.text() : title_.text();
    result.text = text_.text();
    result.offsets = text_.offsets().after(decoded_);
    result.findings = std::move(findings_).take();
    for (const auto& [name, count] : dropped_) {
      result.dropped += (result.dropped.empty() ? "" : ", ") + name + " " + std::to_string(count);
    }
    return result;
  }

 private:
  static UntrustedText excerpt(std::string_view text) {
    const ByteSpan inner = trimmed(text, {0, text.size()});
    return UntrustedText(std::string(utf8_prefix(text.substr(inner.begin, inner.size()), kMaxExcerptBytes)));
  }

  std::size_t offset_of(GumboStringPiece piece) const {
    return piece.data == nullptr ? 0 : static_cast<std::size_t>(piece.data - html_.data());
  }

  /// Depth first without recursion: pages may nest as deep as they like. `visit` sees each element as it opens.
  template <typename Visit>
  Status walk(const GumboOutput& page, Visit visit) {
    std::deque<Frame> open;  // frames stay where they are, since styled elements point to their parents
    open.emplace_back().node = page.document;
    while (!open.empty()) {
      Frame& frame = open.back();
      const GumboVector& children =
          frame.node->type == GUMBO_NODE_DOCUMENT ? frame.node->v.document.children : frame.node->v.element.children;
      if (frame.next_child >= children.length) {
        if (collecting_ && frame.node->type != GUMBO_NODE_DOCUMENT) close(frame);
        open.pop_back();
        continue;
      }
      const auto* child = static_cast<const GumboNode*>(children.data[frame.next_child++]);
      if (child->type == GUMBO_NODE_ELEMENT || child->type == GUMBO_NODE_TEMPLATE) {
        if (open.size() > max_nesting_) {
          return Error{ErrorCode::kLimit,
                       "elements nest deeper than " + std::to_string(max_nesting_) + " (limits.max_nesting)"};
        }
        Frame& inner = open.emplace_back();
        inner.node = child;
        if (collecting_) enter(inner, frame);
        visit(inner);
      } else if (collecting_ && child->type == GUMBO_NODE_COMMENT) {
        comment(*child);
      } else if (collecting_) {
        text(*child, frame);
      }
    }
    return {};
  }

  void read_style(const Frame& frame) {
    const GumboElement& element = frame.node->v.element;
    if (element.tag != GUMBO_TAG_STYLE) return;
    for (unsigned i = 0; i < element.children.length; ++i) {
      const auto* child = static_cast<const GumboNode*>(element.children.data[i]);
      if (child->type == GUMBO_NODE_TEXT || child->type == GUMBO_NODE_CDATA) sheet_.add(child->v.text.text);
    }
  }

  int new_group(const Frame& frame, std::string reason, FindingKind kind = FindingKind::kHiddenHtml) {
    const GumboElement& element = frame.node->v.element;
    const std::size_t begin =
        element.original_tag.data != nullptr ? offset_of(element.original_tag) : element.start_pos.offset;
    std::size_t end = begin + element.original_tag.length;
    if (element.original_end_tag.data != nullptr) {
      end = std::max(end, offset_of(element.original_end_tag) + element.original_end_tag.length);
    }
    groups_.push_back(
        {kind, std::move(reason), {std::min(begin, html_.size()), std::min(end, html_.size())}, {}, false});
    return static_cast<int>(groups_.size()) - 1;
  }

  Declarations declarations_of(const Frame& frame) const {
    const GumboElement& element = frame.node->v.element;
    Declarations own = sheet_.match(frame.styled, attribute(element, "style"));
    const auto from_attribute = [&](const char* name, std::string_view property) {
      std::string value(attribute(element, name));
      for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      if (!value.empty()) own.emplace(property, value);  // style sheets win over attributes
    };
    from_attribute("bgcolor", "background-color");
    if (element.tag == GUMBO_TAG_FONT) from_attribute("color", "color");
    if (element.tag == GUMBO_TAG_BODY) from_attribute("text", "color");
    if (element.tag == GUMBO_TAG_A && has_attribute(element, "href")) own.emplace("color", "blue");
    if (element.tag == GUMBO_TAG_MARK) own.emplace("background-color", "yellow");
    return own;
  }

  std::string box_reason(const Frame& frame, const Declarations& own) const {
    const GumboElement& element = frame.node->v.element;
    if (role_of(element.tag) == TagRole::kNotShown)
      return std::string(gumbo_normalized_tagname(element.tag)) + " content";
    if (has_attribute(element, "hidden") && !own.contains("display")) return "hidden attribute";
    if (frame.tag_name == "dialog" && !has_attribute(element, "open")) return "closed dialog";
    return unseen_box_reason(own, frame.style);
  }

  void enter(Frame& frame, const Frame& parent) {
    const GumboElement& element = frame.node->v.element;
    frame.tag_name = tag_name_of(element);
    frame.styled = {frame.tag_name, attribute(element, "id"), words_of(attribute(element, "class")),
                    parent.node->type == GUMBO_NODE_DOCUMENT ? nullptr : &parent.styled};
    const Declarations own = declarations_of(frame);
    frame.style = inherit(parent.style, own);
    frame.pre = parent.pre || element.tag == GUMBO_TAG_PRE || element.tag == GUMBO_TAG_TEXTAREA;
    frame.title = parent.title || (element.tag == GUMBO_TAG_TITLE && element.tag_namespace == GUMBO_NAMESPACE_HTML);
    if (first_heading_ == nullptr && element.tag == GUMBO_TAG_H1) first_heading_ = frame.node;
    frame.heading = parent.heading || frame.node == first_heading_;
    frame.dropped = parent.dropped;
    if (role_of(element.tag) == TagRole::kNotText) {
      if (!frame.dropped) ++dropped_[gumbo_normalized_tagname(element.tag)];
      frame.dropped = true;
    }
    frame.box_group = parent.box_group;
    if (frame.box_group == kShown && !frame.dropped) {
      std::string reason = box_reason(frame, own);
      if (!reason.empty()) frame.box_group = new_group(frame, std::move(reason));
    }
    frame.text_reason = unseen_text_reason(frame.style);
    if (!frame.text_reason.empty()) {
      const bool same = parent.text_group != kShown && parent.text_reason == frame.text_reason;
      frame.text_group = same ? parent.text_group : new_group(frame, frame.text_reason);
    }
    frame.aria_group = parent.aria_group;
    if (frame.aria_group == kShown && attribute(element, "aria-hidden") == "true") {
      frame.aria_group =
          new_group(frame, "hidden from screen readers only; kept in the text", FindingKind::kAriaHidden);
    }
    check_attributes(element);
    if (frame.box_group == kShown && !frame.dropped) part(element.tag, false);
  }

  void close(const Frame& frame) {
    if (frame.box_group == kShown && !frame.dropped) part(frame.node->v.element.tag, true);
  }

  void part(GumboTag tag, bool closing) {
    switch (role_of(tag)) {
      case TagRole::kBlock:
        text_.part(2);
        break;
      case TagRole::kLine:
        text_.part(1);
        break;
      case TagRole::kCell:
        if (closing) text_.part(0);
        break;
      default:
        break;
    }
  }

  void text(const GumboNode& node, Frame& frame) {
    if (frame.dropped) return;
    const std::string_view words = node.v.text.text;
    const std::string_view original(node.v.text.original_text.data == nullptr ? "" : node.v.text.original_text.data,
                                    node.v.text.original_text.length);
    const std::size_t begin = offset_of(node.v.text.original_text);
    const int group = frame.box_group != kShown ? frame.box_group : frame.title ? kShown : frame.text_group;
    if (group != kShown) {
      add_to(groups_[static_cast<std::size_t>(group)], words, {begin, begin + original.size()});
      return;
    }
    if (frame.aria_group != kShown) {
      add_to(groups_[static_cast<std::size_t>(frame.aria_group)], words, {begin, begin + original.size()});
    }
    if (frame.title) {
      title_.add(words, 0, false);
      return;
    }
    if (frame.heading) heading_.add(words, 0, false);
    const std::size_t offset = decoded_.text_size();
    align_decoded(original, begin, words, decoded_);
    text_.add(words, offset, frame.pre);
  }

  static void add_to(HiddenGroup& group, std::string_view words, ByteSpan source) {
    if (trimmed(words, {0, words.size()}).empty()) return;
    group.source.end = std::max(group.source.end, source.end);
    if (group.excerpt.size() < kMaxExcerptBytes) group.excerpt += words.substr(0, 4 * kMaxExcerptBytes);
  }

  void comment(const GumboNode& node) {
    const std::string_view words = node.v.text.text;
    if (trimmed(words, {0, words.size()}).empty()) return;
    const std::size_t begin = offset_of(node.v.text.original_text);
    findings_.add({FindingKind::kHtmlComment,
                   {begin, begin + node.v.text.original_text.length},
                   1,
                   excerpt(words),
                   looks_like_instruction(words) ? "reads like an instruction to a model" : ""});
  }

  void check_attributes(const GumboElement& element) {
    for (const char* name : {"alt", "title", "aria-label", "content", "placeholder", "summary"}) {
      const GumboAttribute* found = gumbo_get_attribute(&element.attributes, name);
      if (found == nullptr) continue;
      const std::string_view value = found->value;
      const bool order = looks_like_instruction(value);
      if (value.size() <= kLongAltBytes && !order) continue;
      const std::size_t begin = offset_of(found->original_value);
      findings_.add({FindingKind::kAltFlood,
                     {begin, begin + found->original_value.length},
                     1,
                     excerpt(value),
                     std::string(name) + " attribute of " + std::to_string(value.size()) + " bytes" +
                         (order ? "; reads like an instruction to a model" : "")});
    }
  }

  std::string_view html_;
  std::size_t max_nesting_;
  StyleSheet sheet_;
  bool collecting_ = false;
  FlowText text_;
  FlowText title_;
  FlowText heading_;  ///< the first <h1>, for pages without a title
  const GumboNode* first_heading_ = nullptr;
  OffsetMap decoded_;  ///< all shown texts, one after the other -> the page's bytes
  std::vector<HiddenGroup> groups_;
  FindingCollector findings_;
  std::map<std::string, int> dropped_;
};

/// All that gumbo asks for, freed as a list: gumbo's own way is by recursion over the tree, however deep it is.
class ParserMemory {
 public:
  ParserMemory() = default;
  ParserMemory(const ParserMemory&) = delete;
  ParserMemory& operator=(const ParserMemory&) = delete;
  ~ParserMemory() {
    while (first_.next != &first_) release(this, first_.next + 1);
  }

  static void* allocate(void* self, std::size_t size) {
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + size));
    // gumbo does not look at what it gets; the parent process reports this code.
    if (block == nullptr) std::_Exit(4);
    Block& first = static_cast<ParserMemory*>(self)->first_;
    *block = {&first, first.next};
    first.next->before = block;
    first.next = block;
    return block + 1;
  }
  static void release(void*, void* memory) {
    if (memory == nullptr) return;
    Block* block = static_cast<Block*>(memory) - 1;
    block->before->next = block->next;
    block->next->before = block->before;
    std::free(block);
  }

 private:
  struct alignas(std::max_align_t) Block {
    Block* before;
    Block* next;
  };
  Block first_{&first_, &first_};
};

}  // namespace

Result<MarkupResult> extract_html(std::string_view html, int max_nesting) {
  GumboOptions options = kGumboDefaultOptions;
  ParserMemory memory;
  options.allocator = ParserMemory::allocate;
  options.deallocator = ParserMemory::release;
  options.userdata = &memory;
  options.max_errors = 0;
  const GumboOutput* page = gumbo_parse_with_options(&options, html.data(), html.size());
  return Extraction(html, max_nesting).run(*page);
}

}  // namespace casemate
