// Any bytes as a safetensors file: opened or refused, and what is opened can be read.
#include "casemate/encoder/checkpoint.h"
#include "fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace casemate;
  const fuzz::MemoryFile file(fuzz::as_text(data, size));
  const auto opened = SafetensorsFile::open(file.path());
  if (!opened) {
    fuzz::require(opened.error().message.find(file.path()) != std::string::npos, "a refusal names the file");
    return 0;
  }
  for (const auto& [name, tensor] : (*opened)->tensors()) {
    fuzz::require(tensor.begin <= tensor.end && tensor.end <= size, "tensors lie in the file");
    const auto values = (*opened)->read(name, tensor.shape);
    if (!values) continue;
    std::uint64_t count = 1;
    for (const std::uint64_t extent : tensor.shape) count *= extent;
    fuzz::require(values->size() == count, "a tensor has as many values as its shape says");
  }
  return 0;
}
