// casemate/text/part_of_speech.h
#pragma once

#include <cstdint>
#include <string_view>

namespace casemate {

/// Universal parts of speech (Universal Dependencies), and `kSpace` for white space that is a token.
enum class PartOfSpeech : std::uint8_t {
  kAdj,
  kAdp,
  kAdv,
  kAux,
  kCconj,
  kDet,
  kIntj,
  kNoun,
  kNum,
  kPart,
  kPron,
  kPropn,
  kPunct,
  kSconj,
  kSpace,
  kSym,
  kVerb,
  kX,
};

/// The usual name in capitals, such as "CCONJ". Never null.
[[nodiscard]] std::string_view part_of_speech_name(PartOfSpeech part) noexcept;

}  // namespace casemate
