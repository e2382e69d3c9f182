#pragma once

#include <string_view>

#include "segment_file.h"

namespace casemate {

/// Checksum of a row's fields, each with its length before it, so that no two different rows hash alike by shifting
/// bytes from one field to the next. Begins with the store's id: rows of another store do not pass.
class RowHasher {
 public:
  explicit RowHasher(const StoreId& store) : hasher_(Hasher::Kind::kBlake2b) {
    hasher_.update(std::string_view(reinterpret_cast<const char*>(store.data()), store.size()));
  }
  RowHasher& add(std::int64_t value) {
    hasher_.update(std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
    return *this;
  }
  RowHasher& add(std::string_view value) {
    add(static_cast<std::int64_t>(value.size()));
    hasher_.update(value);
    return *this;
  }
  RowHasher& add(const Digest& value) {
    return add(std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
  }
  [[nodiscard]] Digest finish() { return hasher_.finish(); }

 private:
  Hasher hasher_;
};

}  // namespace casemate
