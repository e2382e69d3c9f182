// Letters and digits of a text with all that looks alike made the same.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

struct USpoofChecker;
struct UNormalizer2;

namespace casemate::sanitize {

class Skeleton {
 public:
  Skeleton();
  ~Skeleton();
  Skeleton(const Skeleton&) = delete;
  Skeleton& operator=(const Skeleton&) = delete;

  /// What a code point reads as: letters and digits in lower case, perhaps several, perhaps none.
  [[nodiscard]] std::u32string of(char32_t value) const;

 private:
  [[nodiscard]] std::u32string make(char32_t value) const;
  struct Close {
    void operator()(USpoofChecker* checker) const;
  };
  std::unique_ptr<USpoofChecker, Close> checker_;
  const UNormalizer2* fold_ = nullptr;
  std::array<std::u32string, 128> ascii_;
};

}  // namespace casemate::sanitize
