#include "casemate/retrieve/prepare_candidates.h"

#include "casemate/core/hash.h"

namespace casemate {
namespace {

constexpr char kFolder[] = "candidates";
constexpr std::size_t kHexDigits = 64;

std::string setting_name(CandidateMethod method) { return "candidates." + std::string(candidate_method_name(method)); }

std::string folder_of(const Store& store) { return join_path(store.path(), kFolder); }

/// Names come from a setting, which a damaged or foreign database may have filled with anything.
bool is_hash(std::string_view name) {
  return name.size() == kHexDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

Result<PreparedCandidates> prepare_candidates(Store& store, std::string_view tenant, CandidateMethod method,
                                              const ThreadPool& pool, Progress& progress, std::stop_token stop) {
  const auto snapshot = store.snapshot(tenant);
  if (!snapshot) return snapshot.error();
  const auto index = CandidateIndex::build(**snapshot, method, pool, progress, std::move(stop));
  if (!index) return index.error();
  const auto bytes = (*index)->serialise();
  if (!bytes) return bytes.error();
  const std::string name = to_hex(blake2b(*bytes));
  const auto before = candidates_file(store, tenant, method);
  FileSystem& files = FileSystem::posix();
  if (Status made = files.create_directories(folder_of(store)); !made) return made.error();
  if (Status written = write_file_atomically(files, join_path(folder_of(store), name), *bytes); !written)
    return written.error();
  if (Status named = store.set_setting(tenant, setting_name(method), name); !named) return named.error();
  // Nobody is told of the old file any more. Who has read it keeps it in memory, so failing to remove it costs space
  // only.
  if (before.ok() && !before->empty() && *before != name) {
    if (Status removed = files.remove(join_path(folder_of(store), *before)); !removed)
      progress.note(UntrustedText(removed.error().message).for_log());
  }
  return PreparedCandidates{(*index)->chunks().size(), bytes->size()};
}

Result<std::string> candidates_file(const Store& store, std::string_view tenant, CandidateMethod method) {
  const auto setting = store.setting(tenant, setting_name(method));
  if (!setting) return setting.error();
  if (!*setting || (*setting)->empty()) return std::string();
  if (!is_hash(**setting))
    return Error{ErrorCode::kCorrupt, store.path() + ": the setting " + setting_name(method) + " is damaged"};
  return **setting;
}

Result<std::size_t> drop_candidates(Store& store) {
  const auto tenants = store.tenants();
  if (!tenants) return tenants.error();
  std::size_t dropped = 0;
  for (const std::string& tenant : *tenants) {
    for (const CandidateMethod method : {CandidateMethod::kHnsw, CandidateMethod::kIvf}) {
      const auto file = candidates_file(store, tenant, method);
      if (!file) return file.error();
      if (file->empty()) continue;
      if (Status forgotten = store.set_setting(tenant, setting_name(method), ""); !forgotten) return forgotten.error();
      const Status removed = FileSystem::posix().remove(join_path(folder_of(store), *file));
      if (!removed && removed.error().code != ErrorCode::kNotFound) return removed.error();
      ++dropped;
    }
  }
  return dropped;
}

Result<std::unique_ptr<CandidateIndex>> load_candidates(const Store& store, const std::string& file) {
  const std::string path = join_path(folder_of(store), file);
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  if (to_hex(blake2b(*bytes)) != file)
    return Error{ErrorCode::kCorrupt, path + ": the file is damaged; make it anew with casemate prepare --candidates"};
  return CandidateIndex::deserialise(*bytes);
}

}  // namespace casemate
