// casemate/core/decimal.h
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "casemate/core/status.h"

namespace casemate {

/// An exact decimal in [0, 10^6) with at most nine digits after the point: 0.07 * 100 is 7 here and more in doubles.
class Decimal {
 public:
  Decimal() = default;
  /// "0.3", "3", "2.50". Error: InvalidArgument for anything else: signs, exponents, blanks, too many digits.
  [[nodiscard]] static Result<Decimal> parse(std::string_view text);
  /// The decimal that a person wrote to get this double: its shortest form that reads back as the same double.
  /// Error: as `parse`; InvalidArgument for what is not finite.
  [[nodiscard]] static Result<Decimal> from(double value);

  [[nodiscard]] std::string text() const;  ///< shortest form
  [[nodiscard]] std::int64_t billionths() const noexcept { return billionths_; }
  /// Least integer that is not below `count` times this. `count` in [0, 10^6] where this is at most 1000.
  [[nodiscard]] std::int64_t times_rounded_up(std::int64_t count) const noexcept;

 private:
  explicit Decimal(std::int64_t billionths) : billionths_(billionths) {}
  std::int64_t billionths_ = 0;
};

}  // namespace casemate
