// Looks at a GGUF file before llama.cpp does.
#pragma once

#include <string>

#include "casemate/core/status.h"

namespace casemate::llm {

/// That `path` is a GGUF file whose tensors lie inside it. llama.cpp maps the file and would be killed by a signal
/// where it ends early. Error: NotFound, Permission, Io; InvalidInput with the path and what is wrong.
[[nodiscard]] Status check_gguf_file(const std::string& path);
/// BLAKE2b-256 of the file in hex.
[[nodiscard]] Result<std::string> hash_file(const std::string& path);

}  // namespace casemate::llm
