#include "formats/read_context.h"

#include <utility>

#include "casemate/text/segmentation.h"

namespace casemate {

std::string at_place(const std::string& path, std::size_t line, std::string_view what) {
  return shown_path(path) + (line > 0 ? ":" + std::to_string(line) : "") + ": " + std::string(what);
}

void ReadContext::problem(const std::string& path, std::size_t line, ErrorCode code, std::string_view what) {
  ++summary_.problems;
  sink_.problem({path, line, Error{code, at_place(path, line, what)}});
}

void ReadContext::problem(const std::string& path, const Error& error) {
  ++summary_.problems;
  sink_.problem({path, 0, error});
}

Status ReadContext::check_stop() const {
  return stop_.stop_requested() ? Status(Error{ErrorCode::kCancelled, "the caller asked to stop"}) : Status();
}

std::optional<ReadContext::Place> ReadContext::seen_before(const Document& document) {
  if (files_.empty() || files_.back().path != document.path || files_.back().root != document.root)
    files_.push_back({document.path, document.root});
  const Place here{files_.size() - 1, document.line};
  const auto [seen, fresh] = ids_.try_emplace(document.id, here);
  if (fresh) return std::nullopt;
  const std::string& root = files_[seen->second.file].root;
  if (document.root.empty() || root.empty() || document.root == root) return seen->second;
  const auto [other, is_first] = ids_of_other_roots_.try_emplace(document.root + '\0' + document.id, here);
  return is_first ? std::nullopt : std::optional(other->second);
}

Status ReadContext::emit(Document document) {
  const std::string& text = document.text.bytes();
  if (trimmed(text, {0, text.size()}).empty()) {
    std::string what = "there is no text in it";
    if (!document.findings.empty()) {
      what += "; kept out of it: " + std::string(finding_kind_name(document.findings.front().kind)) + ", " +
              document.findings.front().excerpt.for_log();
    }
    problem(document.path, document.line, ErrorCode::kInvalidInput, what);
    return {};
  }
  if (const auto first = seen_before(document)) {
    const std::string where =
        shown_path(files_[first->file].path) + (first->line > 0 ? ":" + std::to_string(first->line) : "");
    problem(
        document.path, document.line, ErrorCode::kAlreadyExists,
        "id \"" + UntrustedText(document.id).for_log() + "\" is already that of " + where + "; this one is left out");
    return {};
  }
  if (summary_.documents >= limits().max_documents) {
    return Error{ErrorCode::kLimit,
                 at_place(document.path, document.line,
                          "more than " + std::to_string(limits().max_documents) + " documents (limits.max_documents)")};
  }
  ++summary_.documents;
  return sink_.document(std::move(document));
}

UntrustedText cleaned_title(std::string_view raw, Document& document) {
  CleanText clean = clean_text(raw);
  for (Finding& finding : clean.findings) {
    finding.note = finding.note.empty() ? "in the title" : "in the title; " + finding.note;
    document.findings.push_back(std::move(finding));
  }
  return UntrustedText(std::move(clean.text));
}

void set_text(Document& document, std::string_view raw) {
  CleanText clean = clean_text(raw);
  document.text = UntrustedText(std::move(clean.text));
  document.offsets = std::move(clean.offsets);
  for (Finding& finding : clean.findings) document.findings.push_back(std::move(finding));
}

void set_text(Document& document, std::string_view raw, const OffsetMap& offsets) {
  CleanText clean = clean_text(raw);
  document.text = UntrustedText(std::move(clean.text));
  document.offsets = clean.offsets.after(offsets);
  for (Finding& finding : clean.findings) {
    finding.source = offsets.to_source(finding.source);
    document.findings.push_back(std::move(finding));
  }
}

}  // namespace casemate
