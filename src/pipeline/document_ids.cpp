#include "pipeline/document_ids.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "casemate/core/file_system.h"

namespace casemate {
namespace {

namespace fs = std::filesystem;

/// The ends of `path`, shortest first, and `path` itself.
std::vector<std::string> ends_of(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t at = path.size(); at > 0;) {
    at = path.rfind('/', at - 1);
    if (at == std::string::npos) break;
    out.push_back(path.substr(at + 1));
  }
  out.push_back(path);
  return out;
}

}  // namespace

Result<DocumentIds::Holder> DocumentIds::holder_of(const std::string& id, const Document& document) const {
  if (const auto given = given_out_.find(id); given != given_out_.end())
    return given->second == document.absolute_path ? Holder::kThisFile : Holder::kOther;
  const auto stored = store_.document(tenant_, id);
  if (!stored && stored.error().code == ErrorCode::kNotFound) return Holder::kNobody;
  if (!stored) return stored.error();
  const std::string& source = stored->source_path;
  if (source == document.absolute_path) return Holder::kThisFile;
  // Older versions stored paths as they were given.
  if (source == document.path) return Holder::kThisFileElsewhere;
  std::error_code failed;
  if (fs::equivalent(source, document.absolute_path, failed) && !failed) return Holder::kThisFileElsewhere;
  return fs::exists(source, failed) ? Holder::kOther : Holder::kGone;
}

Result<DocumentIds::Id> DocumentIds::id_of(const Document& document) const {
  if (document.root.empty()) return Id{document.id};
  std::vector<std::string> ids = ends_of(join_path(document.root, document.id));
  // Nearly always it is this one.
  std::stable_partition(ids.begin(), ids.end(), [&](const std::string& id) { return id == document.id; });
  std::optional<Id> vacant;
  for (const std::string& id : ids) {
    const auto holder = holder_of(id, document);
    if (!holder) return holder.error();
    if (*holder == Holder::kThisFile) return Id{id};
    if (*holder == Holder::kThisFileElsewhere) return Id{id, true};
    // What is shorter says less than the path below the root: it is this file's only where it was before.
    if (*holder != Holder::kOther && !vacant && id.size() >= document.id.size())
      vacant = Id{id, *holder == Holder::kGone};
  }
  if (vacant) return *std::move(vacant);
  return Error{ErrorCode::kAlreadyExists, "id \"" + UntrustedText(document.id).for_log() +
                                              "\" is that of another document, and so are those with its folders"};
}

void DocumentIds::give_out(const std::string& id, const Document& document) {
  if (!document.root.empty()) given_out_.insert_or_assign(id, document.absolute_path);
}

}  // namespace casemate
