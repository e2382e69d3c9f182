#include "text/base64.h"

#include <sodium.h>

namespace casemate {

Result<std::string> decode_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3 + 3, '\0');
  std::size_t length = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(out.data()), out.size(), text.data(), text.size(), nullptr,
                        &length, nullptr, sodium_base64_VARIANT_ORIGINAL) != 0) {
    return Error{ErrorCode::kInvalidInput, "is not base64"};
  }
  out.resize(length);
  return out;
}

}  // namespace casemate
