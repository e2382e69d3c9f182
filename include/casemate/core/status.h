// casemate/core/status.h
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace casemate {

/// What kind of thing went wrong. The command line maps these to exit codes (see `is_callers_fault`).
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,  ///< a value is out of range, a request makes no sense
  kInvalidOption,    ///< an option of a component: the message names field, value and range
  kInvalidInput,     ///< bytes that came from outside do not parse; the message names file and place
  kNotFound,         ///< a named thing does not exist
  kAlreadyExists,    ///< a named thing exists and must not
  kUnsupported,      ///< this build or backend cannot do it; the message says what can
  kMismatch,         ///< two things that must agree do not (another encoder, another format version)
  kCorrupt,          ///< our own data fails its checksum or structure
  kLimit,            ///< a stated limit was passed (size, count, memory)
  kIo,               ///< the operating system refused a file operation
  kNoSpace,          ///< the disk is full
  kPermission,       ///< access was denied
  kUnavailable,      ///< something outside does not answer (network, child process)
  kTimeout,          ///< something outside took too long
  kModel,            ///< a model failed: NaN, load error, decode error
  kCancelled,        ///< the caller asked to stop
};

/// Stable name of a code, such as "InvalidOption". Never null.
[[nodiscard]] std::string_view error_code_name(ErrorCode code) noexcept;

/// True where the caller can mend it by asking differently (exit code 2); false where something outside
/// failed (exit code 3).
[[nodiscard]] bool is_callers_fault(ErrorCode code) noexcept;

/// An error: a code for programs and a sentence for people, which says what to do where that is known.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;

  /// The same error with `context` and ": " before its message (a file name, say).
  [[nodiscard]] Error in(std::string_view context) const { return Error{code, std::string(context) + ": " + message}; }
};

/// A value or an `Error`. Asking for the one that is not there is a programmer's error and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design
  template <typename U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result<T>> &&
           !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, T>)
      Result(U&& value)
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}  // NOLINT: implicit by design
  /// From a result of another type whose value converts (a derived class's pointer, say).
  template <typename U>
  requires(!std::is_same_v<U, T> && std::is_convertible_v<U, T>) Result(Result<U> other)  // NOLINT: implicit by design
      : state_(other.ok() ? decltype(state_)(std::in_place_index<0>, *std::move(other))
                          : decltype(state_)(std::in_place_index<1>, other.error())) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value() & { return check_value(), *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& { return check_value(), *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && { return check_value(), std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] const Error& error() const {
    if (ok()) std::abort();
    return *std::get_if<1>(&state_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void check_value() const {
    if (!ok()) std::abort();
  }
  std::variant<T, Error> state_;
};

/// Success or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const noexcept { return error_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) std::abort();
    return *std::get_if<1>(&error_);
  }

 private:
  std::variant<std::monostate, Error> error_;
};

using Status = Result<void>;

}  // namespace casemate
