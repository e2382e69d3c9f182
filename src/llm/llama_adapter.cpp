#include "llm/llama_adapter.h"

#include <array>
#include <charconv>
#include <exception>

#include "casemate/core/hash.h"
#include "llm/llama_file.h"
#include "llm/llama_session.h"

namespace casemate::llm {
namespace {

/// Other digits for other numbers: six decimals would give small scales one identity.
std::string shortest(float number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

}  // namespace

Result<LoadedAdapter> load_adapter(llama_model* model, const LlamaOptions& options) {
  const std::string& path = options.adapter_file;
  if (auto good = look_at_gguf_file(path); !good) return good.error();
  const LogScope log(options.log);
  LoadedAdapter out;
  std::string reason;
  try {
    out.adapter = llama_adapter_lora_init(model, path.c_str());
    reason = log.last_error();
  } catch (const std::exception& failure) {
    reason = failure.what();
  }
  if (out.adapter == nullptr) {
    return Error{ErrorCode::kInvalidInput,
                 path + ": is no LoRA adapter for this model" + (reason.empty() ? "" : " (" + reason + ")")};
  }
  // Such an adapter works from certain tokens on only, which whoever calls would have to find.
  if (llama_adapter_get_alora_n_invocation_tokens(out.adapter) > 0)
    return Error{ErrorCode::kUnsupported, path + ": is an activated LoRA, which this program does not apply"};
  auto hash = hash_file(path);
  if (!hash) return hash.error();
  out.hash = to_hex(blake2b(*hash + "|" + shortest(options.adapter_scale)));
  return out;
}

}  // namespace casemate::llm
