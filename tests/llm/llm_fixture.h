// The small real model for tests, loaded once a program.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "casemate/llm/llama_model.h"
#include "support/paths.h"

namespace casemate::test {

inline std::string small_model_path() {
  const auto folder = model_folder("smollm2-135m-instruct-q4_1");
  return folder ? *folder + "/SmolLM2-135M-Instruct.Q4_1.gguf" : std::string();
}

/// Another family (Qwen2, other quantisation, other head grouping).
inline std::string other_model_path() {
  const auto folder = model_folder("qwen2.5-coder-0.5b-instruct-q4_k_m");
  return folder ? *folder + "/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf" : std::string();
}

inline LlamaOptions test_options() {
  LlamaOptions options;
  options.context_tokens = 1024;
  options.threads = 1;  // ggml threads spin at barriers, which is slow where other tests run beside
  options.hash_file = false;
  return options;
}

inline std::unique_ptr<LanguageModel> load_or_null(const std::string& path, const LlamaOptions& options) {
  if (path.empty()) return nullptr;
  auto model = load_llama_model(path, options);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return nullptr;
  }
  return std::move(*model);
}

class SmallModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (shared() == nullptr) shared() = load_or_null(small_model_path(), test_options());
  }
  static void TearDownTestSuite() { shared().reset(); }
  void SetUp() override {
    if (shared() == nullptr) GTEST_SKIP() << "smollm2-135m-instruct-q4_1 is not here: casemate models pull fetches it";
  }
  static LanguageModel& model() { return *shared(); }
  static std::vector<TokenId> ids(const std::string& text) {
    return model().tokenize(text, SpecialTokens::kAsText).value().ids;
  }
  static std::vector<TokenId> prompt_ids(const Prompt& prompt) { return model().tokenize_prompt(prompt).value().ids; }

  /// Plain English of any length.
  static std::string story(int sentences, int variant = 0) {
    std::string text;
    for (int i = 0; i < sentences; ++i) {
      text += "Harbour " + std::to_string(i * 7 + variant) + " was built in 16" + std::to_string(10 + i) +
              " by engineers who liked granite. ";
    }
    return text;
  }

 private:
  static std::unique_ptr<LanguageModel>& shared() {
    static std::unique_ptr<LanguageModel> instance;
    return instance;
  }
};

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

}  // namespace casemate::test
