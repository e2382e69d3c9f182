#include "formats/record_stream.h"

#include <algorithm>
#include <cstring>

namespace casemate {

bool ByteStream::fill() {
  start_ += have_;
  at_ = have_ = 0;
  if (!status_) return false;
  const auto got = file_.read(start_, buffer_.data(), buffer_.size());
  if (!got) {
    status_ = got.error();
    return false;
  }
  have_ = *got;
  return have_ > 0;
}

bool ByteStream::line(std::string& line, std::size_t max_bytes, bool& too_long) {
  line.clear();
  too_long = false;
  bool any = false;
  while (at_ < have_ || fill()) {
    any = true;
    const char* begin = buffer_.data() + at_;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', have_ - at_));
    const std::size_t length = end == nullptr ? have_ - at_ : static_cast<std::size_t>(end - begin);
    if (line.size() + length > max_bytes) too_long = true;
    if (!too_long) line.append(begin, length);
    at_ += length + (end == nullptr ? 0 : 1);
    if (end != nullptr) return true;
  }
  return any;
}

}  // namespace casemate
