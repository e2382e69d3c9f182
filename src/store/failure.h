#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "casemate/core/status.h"

namespace casemate {

/// How an error travels inside src/store: thrown by the SQL layer, caught by `guarded` in every public call.
struct Failure {
  Error error;
};

template <typename T>
T must(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(result).value();
}
inline void must(const Status& status) {
  if (!status) throw Failure{status.error()};
}

/// Runs `body` and turns a Failure, or memory running out, into an Error.
template <typename Body>
Result<std::invoke_result_t<Body>> guarded(Body&& body) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const Failure& failure) {
    return failure.error;
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, "not enough memory for this store operation"};
  }
}

}  // namespace casemate
