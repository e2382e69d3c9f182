// certify/normal_form.h
#pragma once

#include <string>
#include <string_view>

namespace casemate::certify {

/// The form in which answers to different hints must agree: ASCII letters lower, no ASCII punctuation, no articles (a,
/// an, the), words parted by single blanks.
[[nodiscard]] std::string normal_form(std::string_view text);

}  // namespace casemate::certify
