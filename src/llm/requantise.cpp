#include "casemate/llm/requantise.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <utility>

#include "casemate/core/nearest_name.h"
#include "casemate/core/thread_pool.h"
#include "casemate/core/untrusted_text.h"
#include "llm/llama_file.h"
#include "llm/llama_session.h"

namespace casemate {
namespace {

constexpr std::array<std::string_view, 4> kFormats = {"bf16", "f16", "q4_0", "q8_0"};
constexpr std::array<llama_ftype, 4> kTypes = {LLAMA_FTYPE_MOSTLY_BF16, LLAMA_FTYPE_MOSTLY_F16, LLAMA_FTYPE_MOSTLY_Q4_0,
                                               LLAMA_FTYPE_MOSTLY_Q8_0};

}  // namespace

std::span<const std::string_view> weight_formats() noexcept { return kFormats; }

Status requantise_model(const std::string& from, const std::string& to, std::string_view format, int threads) {
  const auto known = std::find(kFormats.begin(), kFormats.end(), format);
  if (known == kFormats.end()) {
    return Error{ErrorCode::kInvalidOption, "there is no weight format \"" +
                                                UntrustedText(std::string(format)).for_log(40) + "\"" +
                                                name_hint(format, kFormats)};
  }
  if (auto good = llm::look_at_gguf_file(from); !good) return good.error();
  std::error_code ignored;
  if (std::filesystem::equivalent(from, to, ignored))
    return Error{ErrorCode::kInvalidArgument, to + ": is the file that is read; give another name"};
  llama_model_quantize_params params = llama_model_quantize_default_params();
  params.ftype = kTypes[static_cast<std::size_t>(known - kFormats.begin())];
  params.allow_requantize = true;
  const int cores = ThreadPool::available_cores();
  params.nthread = threads <= 0 ? cores : std::min(threads, cores);
  const std::function<void(std::string_view)> nobody;
  const llm::LogScope log(nobody);
  std::string reason;
  try {
    if (llama_model_quantize(from.c_str(), to.c_str(), &params) == 0) return {};
    reason = log.last_error();
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  std::filesystem::remove(to, ignored);
  return Error{ErrorCode::kModel, from + ": llama.cpp cannot write this model as " + std::string(format) +
                                      (reason.empty() ? "" : " (" + UntrustedText(reason).for_log(200) + ")")};
}

}  // namespace casemate
