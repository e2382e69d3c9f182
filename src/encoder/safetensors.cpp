#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "casemate/core/file_system.h"
#include "casemate/core/untrusted_text.h"
#include "casemate/encoder/checkpoint.h"

namespace casemate {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

std::uint64_t element_size(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "I8" || dtype == "U8" || dtype == "BOOL" || dtype == "F8_E4M3" || dtype == "F8_E5M2") return 1;
  return 0;
}

Error broken(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalidInput, path + ": " + what};
}

bool is_count(const json& value) { return value.is_number_unsigned(); }

Result<TensorInfo> parse_tensor(const std::string& path, const std::string& name, const json& entry,
                                std::uint64_t data_begin, std::uint64_t file_size) {
  const std::string where = "tensor \"" + UntrustedText(name).for_log() + "\": ";
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2 || !is_count(entry["data_offsets"][0]) || !is_count(entry["data_offsets"][1])) {
    return broken(path, where + "needs dtype, shape and data_offsets [begin, end]");
  }
  TensorInfo info;
  info.dtype = entry["dtype"].get<std::string>();
  const std::uint64_t size = element_size(info.dtype);
  if (size == 0) return broken(path, where + "unknown dtype " + UntrustedText(info.dtype).for_log());
  std::uint64_t bytes = size;
  for (const json& extent : entry["shape"]) {
    if (!is_count(extent)) return broken(path, where + "shape must hold non-negative integers");
    info.shape.push_back(extent.get<std::uint64_t>());
    if (__builtin_mul_overflow(bytes, info.shape.back(), &bytes)) return broken(path, where + "shape is too large");
  }
  const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
  const auto end = entry["data_offsets"][1].get<std::uint64_t>();
  const std::uint64_t available = file_size - data_begin;
  if (begin > end || end > available) {
    return broken(path, where + "bytes " + std::to_string(begin) + " to " + std::to_string(end) +
                            " lie outside the file's " + std::to_string(available) +
                            " data bytes (is the download complete?)");
  }
  if (end - begin != bytes) {
    return broken(path, where + "shape and dtype need " + std::to_string(bytes) + " bytes, data_offsets give " +
                            std::to_string(end - begin));
  }
  info.begin = data_begin + begin;
  info.end = data_begin + end;
  return info;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
  const std::uint32_t exponent = (half >> 10U) & 31U;
  const std::uint32_t mantissa = half & 1023U;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
}

template <typename Element, typename Convert>
void convert(const unsigned char* from, std::vector<float>& out, Convert to_float) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Element element;
    std::memcpy(&element, from + i * sizeof(Element), sizeof element);
    out[i] = to_float(element);
  }
}

std::string shape_text(std::span<const std::uint64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace

SafetensorsFile::~SafetensorsFile() {
  if (data_ != nullptr) ::munmap(const_cast<unsigned char*>(data_), size_);
}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error(errno, "open", path);
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return broken(path, "is not a regular file");
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < 8) {
    ::close(fd);
    return broken(path, "is too short to be a safetensors file");
  }
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int code = errno;
  ::close(fd);
  if (mapped == MAP_FAILED) return io_error(code, "map", path);
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile);  // private constructor; the pointer owns it at once
  file->path_ = path;
  file->data_ = static_cast<const unsigned char*>(mapped);
  file->size_ = size;
  std::uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = (header_bytes << 8U) | file->data_[i];
  if (header_bytes > kMaxHeaderBytes || header_bytes > size - 8) {
    return broken(
        path, "the header claims " + std::to_string(header_bytes) + " bytes (not a safetensors file, or cut short)");
  }
  const auto* text = reinterpret_cast<const char*>(file->data_ + 8);
  int depth_guard = 0;
  const json header = json::parse(
      text, text + header_bytes,
      [&depth_guard](int depth, json::parse_event_t, json&) {
        depth_guard = std::max(depth_guard, depth);
        return depth <= 4;
      },
      false);
  if (header.is_discarded() || !header.is_object() || depth_guard > 4)
    return broken(path, "the header is not a JSON object");
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    auto tensor = parse_tensor(path, name, entry, 8 + header_bytes, size);
    if (!tensor) return tensor.error();
    file->tensors_.emplace(name, *std::move(tensor));
  }
  return file;
}

Result<std::vector<float>> SafetensorsFile::read(std::string_view name, std::span<const std::uint64_t> shape) const {
  const auto it = tensors_.find(name);
  if (it == tensors_.end())
    return Error{ErrorCode::kNotFound, path_ + ": tensor \"" + std::string(name) + "\" is missing"};
  const TensorInfo& info = it->second;
  if (!std::equal(info.shape.begin(), info.shape.end(), shape.begin(), shape.end())) {
    return Error{ErrorCode::kMismatch, path_ + ": tensor \"" + std::string(name) + "\" has shape " +
                                           shape_text(info.shape) + ", the configuration needs " + shape_text(shape)};
  }
  std::vector<float> out((info.end - info.begin) / element_size(info.dtype));
  const unsigned char* from = data_ + info.begin;
  if (info.dtype == "F32") {
    std::memcpy(out.data(), from, info.end - info.begin);
  } else if (info.dtype == "F16") {
    convert<std::uint16_t>(from, out, half_to_float);
  } else if (info.dtype == "BF16") {
    convert<std::uint16_t>(from, out,
                           [](std::uint16_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16U); });
  } else if (info.dtype == "F64") {
    convert<double>(from, out, [](double v) { return static_cast<float>(v); });
  } else {
    return Error{ErrorCode::kUnsupported, path_ + ": tensor \"" + std::string(name) + "\" has dtype " + info.dtype +
                                              ", weights must be F32, F16, BF16 or F64"};
  }
  return out;
}

}  // namespace casemate
