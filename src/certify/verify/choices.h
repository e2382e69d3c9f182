// certify/verify/choices.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace casemate::verify {

/// How often the checks of one certificate may look at a number; a few seconds.
inline constexpr std::uint64_t kMaxWork = std::uint64_t{1} << 28U;

/// Thrown where the checks would take longer; `verify_certificate` makes it a Limit error.
struct TooMuchWork {};

/// What is left of it.
class Work {
 public:
  /// Counts `times` looks at `numbers` numbers. Throws TooMuchWork.
  void spend(std::uint64_t times, std::uint64_t numbers) {
    if (times > 0 && numbers > left_ / times) throw TooMuchWork{};
    left_ -= times * numbers;
  }

 private:
  std::uint64_t left_ = kMaxWork;
};

/// C(n, r), at most kMaxWork + 1.
[[nodiscard]] std::uint64_t count_choices(std::size_t n, std::size_t r);

/// Calls `visit` with every choice of r of the numbers 0 to n - 1, ascending, until it says false. `cost` is the work
/// of one call. Returns false where a call did. Throws TooMuchWork.
bool every_choice(std::size_t n, std::size_t r, std::uint64_t cost, Work& work,
                  const std::function<bool(std::span<const std::size_t>)>& visit);

}  // namespace casemate::verify
