#include "llm/llama_file.h"

#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <exception>
#include <memory>

#include "casemate/core/file_system.h"
#include "casemate/core/hash.h"
#include "llm/llama_session.h"

namespace casemate::llm {
namespace {

struct GgufFree {
  void operator()(gguf_context* context) const noexcept { gguf_free(context); }
};

Error invalid(const std::string& path, const std::string& what) {
  return {ErrorCode::kInvalidInput, path + ": " + what};
}

constexpr std::size_t kAnyRows = std::size_t{1} << 20U;
constexpr std::size_t kRowsOfKQuants = 7;

std::size_t rows_of_equal_bits(ggml_type type) {
  switch (type) {
    case GGML_TYPE_Q4_0:
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q5_0:
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q8_0:
      return kAnyRows;
    case GGML_TYPE_F32:
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16:
      return 1;
    default:
      return ggml_is_quantized(type) ? kRowsOfKQuants : 1;
  }
}

/// Matrices are what rows are multiplied with; norms and biases are vectors.
bool is_matrix(const gguf_context* gguf, std::int64_t tensor) {
  const std::int64_t* extent = gguf_get_tensor_ne(gguf, tensor);
  return extent[1] > 1 || extent[2] > 1 || extent[3] > 1;
}

}  // namespace

Result<GgufFile> look_at_gguf_file(const std::string& path) {
  auto info = FileSystem::posix().info(path);
  if (!info) return info.error();
  if (!info->is_regular) return invalid(path, "is not a file; a GGUF model file was expected");
  auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  char magic[4] = {};
  if (info->size < 24)
    return invalid(path, "is too short for a GGUF model file (" + std::to_string(info->size) + " bytes)");
  if (auto status = (*file)->read(0, sizeof magic, magic); !status) return status.error();
  if (std::string_view(magic, 4) != "GGUF")
    return invalid(path, "does not begin with \"GGUF\": it is no GGUF model file");

  const std::function<void(std::string_view)> no_sink;
  const LogScope log(no_sink);
  try {
    const std::unique_ptr<gguf_context, GgufFree> gguf(
        gguf_init_from_file(path.c_str(), gguf_init_params{/*no_alloc=*/true, /*ctx=*/nullptr}));
    if (gguf == nullptr) {
      return invalid(path, "its header is damaged or cut short" +
                               (log.last_error().empty() ? std::string() : " (" + log.last_error() + ")"));
    }
    if (gguf_get_n_tensors(gguf.get()) == 0) return invalid(path, "holds no tensors");
    GgufFile out{kAnyRows};
    const std::uint64_t start = gguf_get_data_offset(gguf.get());
    for (std::int64_t i = 0; i < gguf_get_n_tensors(gguf.get()); ++i) {
      const std::uint64_t offset = gguf_get_tensor_offset(gguf.get(), i);
      const std::uint64_t size = gguf_get_tensor_size(gguf.get(), i);
      if (start > info->size || offset > info->size - start || size > info->size - start - offset) {
        return invalid(path, std::string("is cut short: tensor \"") + gguf_get_tensor_name(gguf.get(), i) +
                                 "\" ends at byte " + std::to_string(start + offset + size) + " of " +
                                 std::to_string(info->size) + "; fetch the file again");
      }
      if (is_matrix(gguf.get(), i)) {
        out.rows_of_equal_bits =
            std::min(out.rows_of_equal_bits, rows_of_equal_bits(gguf_get_tensor_type(gguf.get(), i)));
      }
    }
    return out;
  } catch (const std::exception& failure) {
    return invalid(path, std::string("its header is damaged: ") + failure.what());
  }
}

Result<std::string> hash_file(const std::string& path) {
  auto file = FileSystem::posix().open(path);
  if (!file) return file.error();
  Hasher hasher(Hasher::Kind::kBlake2b);
  std::string buffer(std::size_t{1} << 20U, '\0');
  for (std::uint64_t at = 0; at < (*file)->size(); at += buffer.size()) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), (*file)->size() - at));
    if (auto status = (*file)->read(at, length, buffer.data()); !status) return status.error();
    hasher.update(std::string_view(buffer).substr(0, length));
  }
  return to_hex(hasher.finish());
}

}  // namespace casemate::llm
