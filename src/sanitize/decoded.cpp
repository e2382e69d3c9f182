#include "sanitize/decoded.h"

#include <array>
#include <cstdint>

namespace casemate::sanitize {
namespace {

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// `skip` characters at the beginning belong to something else.
std::string from_base64(std::string_view code, std::size_t skip) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : code.substr(skip)) {
    const int value = base64_value(c);
    if (value < 0) break;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
    }
  }
  return out;
}

std::string from_hex_digits(std::string_view code) {
  std::string out;
  for (std::size_t i = 0; i + 1 < code.size(); i += 2) {
    const int high = hex_value(code[i]);
    const int low = hex_value(code[i + 1]);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace

bool EncodedRun::push(char32_t value) {
  if (ended_) {
    code_.clear();
    ended_ = line_ended_ = false;
    looked_at_ = line_ = 0;
  }
  const bool code = value < 128 && (base64_value(static_cast<char>(value)) >= 0 || value == U'=');
  if (code) {
    line_ended_ = false;
    code_ += static_cast<char>(value);
    ++line_;
    if (code_.size() < looked_at_ + 256) return false;
    looked_at_ = code_.size();
    return true;
  }
  if ((value == U'\n' || value == U'\r') && (line_ >= kWrapped || line_ended_)) {
    line_ended_ = true;
    line_ = 0;
    return false;
  }
  return finish();
}

bool EncodedRun::finish() {
  if (code_.empty()) return false;
  ended_ = true;
  return code_.size() >= kShortest;
}

std::size_t EncodedRun::trim() {
  if (code_.size() < kLongest || ended_) return 0;
  const std::size_t gone = (code_.size() - kOverlap) / 4 * 4;
  code_.erase(0, gone);
  looked_at_ = code_.size();
  return gone;
}

std::vector<Decoded> EncodedRun::decode() const {
  std::vector<Decoded> out;
  if (code_.size() < kShortest) return out;
  for (std::size_t skip = 0; skip < 4; ++skip) out.push_back({from_base64(code_, skip), "base64"});
  if (std::string text = from_hex_digits(code_); !text.empty()) out.push_back({std::move(text), "hex"});
  return out;
}

}  // namespace casemate::sanitize
