// casemate/retrieve/prepare_candidates.h
#pragma once

#include <memory>
#include <stop_token>
#include <string_view>

#include "casemate/retrieve/candidate_index.h"
#include "casemate/store/store.h"

namespace casemate {

struct PreparedCandidates {
  std::size_t passages = 0;      ///< that are in the index
  std::uint64_t file_bytes = 0;  ///< what it takes on the disk, and about what it takes in memory
};

/// Makes the candidate index of all passages of `tenant` and keeps it in the store's folder (candidates/), in place of
/// an earlier one of this method. The store's settings name the file by its hash, so another file is never read.
/// Passages that are added later are scanned until this runs again. Error: as CandidateIndex::build; what the store
/// says; NoSpace, Io.
[[nodiscard]] Result<PreparedCandidates> prepare_candidates(Store& store, std::string_view tenant,
                                                            CandidateMethod method, const ThreadPool& pool,
                                                            Progress& progress, std::stop_token stop);

/// The name of the file in which `tenant` has candidates by `method` ("" where it has none), which changes whenever
/// they are made anew. Error: what the store says; Corrupt for a damaged setting.
[[nodiscard]] Result<std::string> candidates_file(const Store& store, std::string_view tenant, CandidateMethod method);

/// Takes out all candidate indexes of all tenants: they hold copies of the embeddings of passages that were deleted
/// since. Returns how many there were. Error: what the store says; Io.
[[nodiscard]] Result<std::size_t> drop_candidates(Store& store);

/// Reads what `candidates_file` names. Error: NotFound, Corrupt (other bytes than were written), each with the path and
/// what to do.
[[nodiscard]] Result<std::unique_ptr<CandidateIndex>> load_candidates(const Store& store, const std::string& file);

}  // namespace casemate
