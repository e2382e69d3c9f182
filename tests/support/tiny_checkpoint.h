// tests/support/tiny_checkpoint.h
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "casemate/core/random.h"
#include "casemate/encoder/checkpoint.h"

namespace casemate::test {

/// A Hugging Face folder with random weights, made for one test, and the weights for a twin to compute with.
struct TinyCheckpoint {
  std::string folder;
  ModelConfig config;
  std::map<std::string, std::vector<float>> tensors;
};

/// Writes config.json, tokenizer.json and model.safetensors of `architecture` with `head` into `folder` (which exists).
/// `prefixed`: names carry the model's prefix ("bert.") as checkpoints with heads do.
TinyCheckpoint write_tiny_checkpoint(const std::string& folder, Architecture architecture, Head head, bool prefixed,
                                     const char* activation = "gelu");

/// A safetensors file as bytes.
std::string safetensors_bytes(
    const std::map<std::string, std::pair<std::vector<std::size_t>, std::vector<float>>>& tensors);

}  // namespace casemate::test
