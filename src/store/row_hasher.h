#pragma once

#include <string_view>

#include "casemate/core/hash.h"
#include "segment_file.h"

namespace casemate {

/// For the checksum of a row's fields. Begins with the store's id: rows of another store do not pass.
[[nodiscard]] inline FieldHasher row_hasher(const StoreId& store) {
  FieldHasher hasher(FieldHasher::Lengths::kBinary);
  hasher.add_raw(std::string_view(reinterpret_cast<const char*>(store.data()), store.size()));
  return hasher;
}

}  // namespace casemate
