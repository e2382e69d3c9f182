// tests/support/collecting_sink.h
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "casemate/formats/reader.h"

namespace casemate::test {

/// Keeps all that a reader gives.
class CollectingSink final : public DocumentSink {
 public:
  Status document(Document document) override {
    documents.push_back(std::move(document));
    return {};
  }
  void problem(const InputProblem& problem) override { problems.push_back(problem); }

  [[nodiscard]] const Document* find(const std::string& id) const {
    const auto found = std::find_if(documents.begin(), documents.end(), [&](const Document& d) { return d.id == id; });
    return found == documents.end() ? nullptr : &*found;
  }
  /// All messages, one a line.
  [[nodiscard]] std::string messages() const {
    std::string all;
    for (const InputProblem& problem : problems) all += problem.error.message + "\n";
    return all;
  }

  std::vector<Document> documents;
  std::vector<InputProblem> problems;
};

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The bytes of the source that the bytes `part` of the document's text came from.
inline std::string source_of(const Document& document, const std::string& source, const std::string& part) {
  const std::size_t at = document.text.bytes().find(part);
  if (at == std::string::npos) return "(not in the text)";
  const ByteSpan span = document.offsets.to_source({at, at + part.size()});
  return source.substr(span.begin, span.size());
}

[[nodiscard]] inline const Finding* find_finding(const Document& document, FindingKind kind) {
  const auto found = std::find_if(document.findings.begin(), document.findings.end(),
                                  [&](const Finding& f) { return f.kind == kind; });
  return found == document.findings.end() ? nullptr : &*found;
}

}  // namespace casemate::test
