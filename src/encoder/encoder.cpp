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

std::string_view precision_name(Precision precision) noexcept {
  return precision == Precision::kFloat32 ? "float32" : "fixed16";
}

Result<Precision> parse_precision(std::string_view name) {
  for (const Precision precision : {Precision::kFloat32, Precision::kFixed16}) {
    if (name == precision_name(precision)) return precision;
  }
  return Error{ErrorCode::kInvalidOption,
               "precision \"" + UntrustedText(std::string(name)).for_log() + "\" is not one of float32, fixed16"};
}

}  // namespace casemate
