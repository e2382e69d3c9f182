#include "casemate/encoder/encoder.h"

#include "casemate/core/untrusted_text.h"

namespace casemate {

std::string_view pooling_name(Pooling pooling) noexcept { return pooling == Pooling::kMean ? "mean" : "cls"; }

Result<Pooling> parse_pooling(std::string_view name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  return Error{ErrorCode::kInvalidOption,
               "pooling \"" + UntrustedText(std::string(name)).for_log() + "\" is not one of mean, cls"};
}

}  // namespace casemate
