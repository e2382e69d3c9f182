// Looks at a GGUF file before llama.cpp does.
#pragma once

#include <cstddef>
#include <string>

#include "casemate/core/status.h"

namespace casemate::llm {

struct GgufFile {
  /// How many rows of a step may be multiplied at once so that each has the bits that it has alone. Measured by the
  /// format of the matrices (llama.cpp 0.5.0, AVX-512): blocks of 32 (Q4_0 to Q8_0) have one kernel for any number of
  /// rows, K- and IQ-quants another one from eight on, unquantised ones another one from two on. The least over all
  /// matrices.
  std::size_t rows_of_equal_bits = 1;
};

/// What the header of a GGUF file says, once it is known that its tensors lie inside the file: llama.cpp maps the file
/// and would be killed by a signal where it ends early. Error: NotFound, Permission, Io; InvalidInput with the path
/// and what is wrong.
[[nodiscard]] Result<GgufFile> look_at_gguf_file(const std::string& path);

/// BLAKE2b-256 of the file in hex.
[[nodiscard]] Result<std::string> hash_file(const std::string& path);

}  // namespace casemate::llm
