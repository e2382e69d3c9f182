// casemate/certify/normal_form.h
#pragma once

#include <string>
#include <string_view>

namespace casemate::certify {

/// The form in which answers to different hints must agree: ASCII letters lower, no ASCII punctuation but what can
/// change a number (any directly before a digit, and "%" directly after one), no articles (a, an, the), words parted by
/// single blanks. So "3.5" is not "35", nor "-5" "5".
[[nodiscard]] std::string normal_form(std::string_view text);

}  // namespace casemate::certify
