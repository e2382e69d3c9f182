// pipeline/document_ids.h
#pragma once

#include <map>
#include <string>
#include <utility>

#include "casemate/formats/document.h"
#include "casemate/store/store.h"

namespace casemate {

/// Under which ids files are stored. A file's id is the end of its path: what lies below the given root, or, where that
/// is the id of another file, as much more of the path as tells them apart. A file that is stored already keeps its id,
/// whichever of its folders was given and however it was spelled. A document whose file is gone is taken over by the
/// next file that would have its id: a folder that was moved, or checked out anew, is not another one.
class DocumentIds {
 public:
  DocumentIds(const Store& store, std::string tenant) : store_(store), tenant_(std::move(tenant)) {}

  struct Id {
    std::string id;
    bool source_differs = false;  ///< it is stored, as coming from another path
  };
  /// Error: AlreadyExists where even the whole path is the id of something else; what the store says.
  [[nodiscard]] Result<Id> id_of(const Document& document) const;

  /// For documents with roots: the store does not show yet that `id` is `document`'s.
  void give_out(const std::string& id, const Document& document);
  /// It shows all that was given out.
  void settle() { given_out_.clear(); }

 private:
  enum class Holder : std::uint8_t { kNobody, kThisFile, kThisFileElsewhere, kGone, kOther };
  [[nodiscard]] Result<Holder> holder_of(const std::string& id, const Document& document) const;

  const Store& store_;
  std::string tenant_;
  std::map<std::string, std::string> given_out_;  ///< ids and paths
};

}  // namespace casemate
