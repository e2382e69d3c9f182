// formats/read_context.h
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "casemate/core/status.h"
#include "casemate/formats/document.h"
#include "casemate/formats/read_options.h"
#include "casemate/formats/reader.h"
#include "casemate/text/clean_text.h"
#include "formats/input_file.h"

namespace casemate {

/// One file on its way through a reader.
struct Source {
  std::string path;  ///< as found
  std::string name;  ///< below the given root: the id of a one-document file
  std::string root;  ///< absolute, without links
  InputFile& file;
};

/// What all readers of one run share: the sink, the ids seen, the counts.
class ReadContext {
 public:
  ReadContext(const ReadOptions& options, DocumentSink& sink, std::stop_token stop)
      : options_(options), sink_(sink), stop_(std::move(stop)) {}

  [[nodiscard]] const ReadOptions& options() const noexcept { return options_; }
  [[nodiscard]] const ReadLimits& limits() const noexcept { return options_.limits; }
  [[nodiscard]] ReadSummary& summary() noexcept { return summary_; }
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// Error: Cancelled, which ends the run.
  [[nodiscard]] Status check_stop() const;

  /// Gives a document to the sink. A blank one and one whose id was seen (below the same root) are problems instead.
  /// Error: what ends the run (the sink's error, max_documents).
  [[nodiscard]] Status emit(Document document);
  /// `what` without the path; "path:line: " is put before it.
  void problem(const std::string& path, std::size_t line, ErrorCode code, std::string_view what);
  /// `error`'s message begins with the path already.
  void problem(const std::string& path, const Error& error);

 private:
  struct File {
    std::string path;
    std::string root;  ///< of the ids made from its path
  };
  struct Place {
    std::size_t file = 0;
    std::size_t line = 0;
  };
  /// Where the document with this id (and root) was met before; nothing where it was not.
  [[nodiscard]] std::optional<Place> seen_before(const Document& document);

  const ReadOptions& options_;
  DocumentSink& sink_;
  std::stop_token stop_;
  ReadSummary summary_;
  std::vector<File> files_;  ///< of the places
  std::unordered_map<std::string, Place> ids_;
  std::unordered_map<std::string, Place> ids_of_other_roots_;  ///< by root and id, where `ids_` has the id already
};

/// "path:line: what", or "path: what" for line 0; the path escaped.
[[nodiscard]] std::string at_place(const std::string& path, std::size_t line, std::string_view what);

/// `raw` cleaned; its findings are added to those of `document`.
[[nodiscard]] UntrustedText cleaned_title(std::string_view raw, Document& document);
/// Sets text, offsets and findings of `document` from `raw`, whose bytes are those of the source.
void set_text(Document& document, std::string_view raw);
/// The same where `raw` was made from the source by `offsets`.
void set_text(Document& document, std::string_view raw, const OffsetMap& offsets);

}  // namespace casemate
