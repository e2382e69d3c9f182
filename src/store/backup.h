#pragma once

#include "store_state.h"

namespace casemate {

/// Makes `destination` ready for a new store: a folder that is new, empty, or holds only what an interrupted attempt
/// left, which is removed. Takes its writer lock. Throws AlreadyExists otherwise.
[[nodiscard]] std::unique_ptr<WriterLock> prepare_new_store(FileSystem& files, const std::string& destination);
/// Gives the finished database its name: the moment at which the folder becomes a store. Throws Failure.
void publish_database(FileSystem& files, const std::string& folder);

/// Copies all files of the store in `source`, whose lock the caller holds, to the new folder `destination`.
void copy_store_files(FileSystem& files, const std::string& source, const std::string& destination);

/// `Store::backup`. Throws Failure.
void backup(StoreState& store, const std::string& destination);

}  // namespace casemate
