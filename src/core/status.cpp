#include "casemate/core/status.h"

namespace casemate {

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgument";
    case ErrorCode::kInvalidOption:
      return "InvalidOption";
    case ErrorCode::kInvalidInput:
      return "InvalidInput";
    case ErrorCode::kNotFound:
      return "NotFound";
    case ErrorCode::kAlreadyExists:
      return "AlreadyExists";
    case ErrorCode::kUnsupported:
      return "Unsupported";
    case ErrorCode::kMismatch:
      return "Mismatch";
    case ErrorCode::kCorrupt:
      return "Corrupt";
    case ErrorCode::kLimit:
      return "Limit";
    case ErrorCode::kIo:
      return "Io";
    case ErrorCode::kNoSpace:
      return "NoSpace";
    case ErrorCode::kPermission:
      return "Permission";
    case ErrorCode::kUnavailable:
      return "Unavailable";
    case ErrorCode::kTimeout:
      return "Timeout";
    case ErrorCode::kModel:
      return "Model";
    case ErrorCode::kCancelled:
      return "Cancelled";
  }
  return "Unknown";
}

bool is_callers_fault(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kInvalidOption:
    case ErrorCode::kInvalidInput:
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kUnsupported:
    case ErrorCode::kMismatch:
    case ErrorCode::kLimit:
    case ErrorCode::kPermission:
      return true;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kNoSpace:
    case ErrorCode::kUnavailable:
    case ErrorCode::kTimeout:
    case ErrorCode::kModel:
    case ErrorCode::kCancelled:
      return false;
  }
  return false;
}

}  // namespace casemate
