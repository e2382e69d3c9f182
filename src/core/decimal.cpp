#include "casemate/core/decimal.h"

#include <array>
#include <charconv>
#include <cmath>

#include "casemate/core/untrusted_text.h"

namespace casemate {
namespace {

constexpr std::int64_t kUnit = 1'000'000'000;
constexpr std::size_t kMostFraction = 9;
constexpr std::size_t kMostWhole = 6;

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

Result<Decimal> Decimal::parse(std::string_view text) {
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  const bool fraction_is_there = point == std::string_view::npos || !fraction.empty();
  if (whole.empty() || !fraction_is_there || whole.size() > kMostWhole || fraction.size() > kMostFraction ||
      !all_digits(whole) || !all_digits(fraction)) {
    return Error{ErrorCode::kInvalidArgument,
                 "\"" + UntrustedText(std::string(text)).for_log(40) +
                     "\": expected a decimal such as 0.3, with at most 6 digits before and "
                     "9 after the point"};
  }
  std::string digits(fraction);
  digits.append(kMostFraction - fraction.size(), '0');
  return Decimal(std::stoll(std::string(whole)) * kUnit + std::stoll(digits));
}

Result<Decimal> Decimal::from(double value) {
  if (!std::isfinite(value)) return Error{ErrorCode::kInvalidArgument, "expected a finite decimal"};
  std::array<char, 512> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return parse(std::string_view(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())));
}

std::string Decimal::text() const {
  std::string out = std::to_string(billionths_ / kUnit);
  std::string fraction = std::to_string(kUnit + billionths_ % kUnit).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (!fraction.empty()) out += "." + fraction;
  return out;
}

std::int64_t Decimal::times_rounded_up(std::int64_t count) const noexcept {
  const std::int64_t product = billionths_ * count;
  return product / kUnit + (product % kUnit != 0 ? 1 : 0);
}

}  // namespace casemate
