// casemate/text/porter_stemmer.h
#pragma once

#include <string>
#include <string_view>

namespace casemate {

/// The stem of an English word by Porter's algorithm (1980) with the departures that NLTK makes by default: a list of
/// irregular forms, words of one or two letters unchanged, "-ied", "-ies" of four letters, and more suffixes of step 2.
/// That is what ROUGE with stemming uses. `word` is lower-cased where it is ASCII; other letters count as consonants.
[[nodiscard]] std::string porter_stem(std::string_view word);

}  // namespace casemate
