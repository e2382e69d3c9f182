#include "sanitize/skeleton.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>

#include <vector>

namespace casemate::sanitize {
namespace {

using Utf16 = std::vector<UChar>;

Utf16 folded(const UNormalizer2* fold, const Utf16& text) {
  Utf16 out(text.size() * 4 + 32);
  UErrorCode error = U_ZERO_ERROR;
  const std::int32_t length = unorm2_normalize(fold, text.data(), static_cast<std::int32_t>(text.size()), out.data(),
                                               static_cast<std::int32_t>(out.size()), &error);
  if (U_FAILURE(error)) return text;
  out.resize(static_cast<std::size_t>(length));
  return out;
}

}  // namespace

void Skeleton::Close::operator()(USpoofChecker* checker) const { uspoof_close(checker); }

Skeleton::Skeleton() {
  UErrorCode error = U_ZERO_ERROR;
  checker_.reset(uspoof_open(&error));
  error = U_ZERO_ERROR;
  fold_ = unorm2_getNFKCCasefoldInstance(&error);
  for (char32_t c = 0; c < 128; ++c) ascii_[c] = make(c);
}
Skeleton::~Skeleton() = default;

std::u32string Skeleton::of(char32_t value) const { return value < 128 ? ascii_[value] : make(value); }

std::u32string Skeleton::make(char32_t value) const {
  if (value > 0x10FFFF || fold_ == nullptr) return {};
  Utf16 text(2);
  std::int32_t at = 0;
  U16_APPEND_UNSAFE(text.data(), at, static_cast<UChar32>(value));
  text.resize(static_cast<std::size_t>(at));
  // Folded first, because capitals and small letters look like different things; and last, because what something looks
  // like may be a capital.
  text = folded(fold_, text);
  if (checker_ != nullptr && !text.empty()) {
    Utf16 look(text.size() * 8 + 32);
    UErrorCode error = U_ZERO_ERROR;
    const std::int32_t length =
        uspoof_getSkeleton(checker_.get(), 0, text.data(), static_cast<std::int32_t>(text.size()), look.data(),
                           static_cast<std::int32_t>(look.size()), &error);
    if (U_SUCCESS(error)) {
      look.resize(static_cast<std::size_t>(length));
      text = folded(fold_, look);
    }
  }
  std::u32string out;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(text.size());) {
    UChar32 c = 0;
    U16_NEXT(text.data(), i, static_cast<std::int32_t>(text.size()), c);
    if (u_isalnum(c)) out += static_cast<char32_t>(c);
  }
  return out;
}

}  // namespace casemate::sanitize
