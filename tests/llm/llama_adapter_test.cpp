#include <ggml.h>
#include <gguf.h>

#include <functional>

#include "llm/llm_fixture.h"
#include "support/temporary_folder.h"

namespace casemate {
namespace {

struct AdapterForm {
  std::string architecture = "llama";
  std::string tensor = "blk.20.ffn_down.weight";  // [1536, 576] in SmolLM2-135M
  int inputs = 1536;
  int outputs = 576;
  std::function<float(int)> value = [](int i) { return static_cast<float>(i * 37 % 101 - 50) / 500.0F; };
  float b_factor = 1;
};

/// A LoRA of rank 2 over one matrix, in the form that convert_lora_to_gguf.py writes.
void write_adapter(const std::string& path, const AdapterForm& form) {
  constexpr int kRank = 2;
  ggml_context* tensors = ggml_init({8U << 20U, nullptr, false});
  gguf_context* file = gguf_init_empty();
  gguf_set_val_str(file, "general.type", "adapter");
  gguf_set_val_str(file, "general.architecture", form.architecture.c_str());
  gguf_set_val_str(file, "adapter.type", "lora");
  gguf_set_val_f32(file, "adapter.lora.alpha", kRank);
  const auto add = [&](const std::string& name, int columns, int rows, float factor) {
    ggml_tensor* tensor = ggml_new_tensor_2d(tensors, GGML_TYPE_F32, columns, rows);
    ggml_set_name(tensor, name.c_str());
    auto* values = static_cast<float*>(tensor->data);
    for (int i = 0; i < columns * rows; ++i) values[i] = form.value(i) * factor;
    gguf_add_tensor(file, tensor);
  };
  add(form.tensor + ".lora_a", form.inputs, kRank, 1);
  add(form.tensor + ".lora_b", kRank, form.outputs, form.b_factor);
  gguf_write_to_file(file, path.c_str(), false);
  gguf_free(file);
  ggml_free(tensors);
}

class LlamaAdapter : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::small_model_path().empty())
      GTEST_SKIP() << "smollm2-135m-instruct-q4_1 is not here: casemate models pull fetches it";
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }

  static std::unique_ptr<LanguageModel> load(const std::string& adapter, float scale = 1) {
    LlamaOptions options = test::test_options();
    options.context_tokens = 256;
    options.adapter_file = adapter;
    options.adapter_scale = scale;
    return test::load_or_null(test::small_model_path(), options);
  }
  static std::vector<float> predicted(LanguageModel& model) {
    const auto ids = model.tokenize("The ferry leaves the harbour at", SpecialTokens::kAsText).value().ids;
    return model.next_token_log_probabilities(ids).value();
  }
  /// The same from a batch, which has cells of its own.
  static std::vector<float> predicted_in_batch(LanguageModel& model) {
    const auto ids = model.tokenize("The ferry leaves the harbour at", SpecialTokens::kAsText).value().ids;
    BatchSequence sequence;
    sequence.suffix = ids;
    return model.start_batch({}, std::span(&sequence, 1)).value()->log_probabilities(0).value();
  }
  static Error refused(const std::string& adapter) {
    LlamaOptions options = test::test_options();
    options.adapter_file = adapter;
    const auto model = load_llama_model(test::small_model_path(), options);
    EXPECT_FALSE(model.ok());
    return model.ok() ? Error{} : model.error();
  }

  test::TemporaryFolder folder_;
};

TEST_F(LlamaAdapter, AnAdapterChangesWhatIsPredictedAndItsScaleIsAFactorOfItsMatrix) {
  write_adapter(path("lora.gguf"), {});
  AdapterForm halved;
  halved.b_factor = 0.5F;
  write_adapter(path("halved.gguf"), halved);
  const auto plain = load("");
  const auto whole = load(path("lora.gguf"));
  const auto scaled = load(path("lora.gguf"), 0.5F);
  const auto half = load(path("halved.gguf"));
  ASSERT_TRUE(plain && whole && scaled && half);
  const auto without = predicted(*plain);
  EXPECT_GT(test::largest_difference(without, predicted(*whole)), 0.1);
  EXPECT_GT(test::largest_difference(without, predicted(*half)), 0.01);
  EXPECT_LT(test::largest_difference(predicted(*scaled), predicted(*half)), 1e-3);
  EXPECT_LT(test::largest_difference(predicted(*whole), predicted_in_batch(*whole)), 1e-3);
}

TEST_F(LlamaAdapter, ScaleZeroAndMatricesOfZerosLeaveTheModelAsItIs) {
  AdapterForm zeros;
  zeros.value = [](int) { return 0.0F; };
  write_adapter(path("zeros.gguf"), zeros);
  write_adapter(path("lora.gguf"), {});
  const auto plain = load("");
  const auto zero = load(path("zeros.gguf"));
  const auto off = load(path("lora.gguf"), 0);
  ASSERT_TRUE(plain && zero && off);
  EXPECT_EQ(predicted(*plain), predicted(*zero));
  EXPECT_EQ(predicted(*plain), predicted(*off));
}

TEST_F(LlamaAdapter, TheAdapterAndItsScaleArePartOfTheModelsIdentity) {
  write_adapter(path("lora.gguf"), {});
  const auto plain = load("");
  const auto one = load(path("lora.gguf"));
  const auto two = load(path("lora.gguf"), 2);
  ASSERT_TRUE(plain && one && two);
  EXPECT_NE(one->info().name.find("+lora.gguf@"), std::string::npos) << one->info().name;
  EXPECT_NE(one->info().name, two->info().name);
  const auto small = load(path("lora.gguf"), 1e-7F);
  const auto smaller = load(path("lora.gguf"), 2e-7F);
  ASSERT_TRUE(small && smaller);
  EXPECT_NE(small->info().name, smaller->info().name);
  EXPECT_NE(one->info().name, plain->info().name);
  // A state of one is refused by another.
  const auto ids = one->tokenize("The ferry leaves the harbour at six", SpecialTokens::kAsText).value().ids;
  BatchSequence sequence;
  sequence.suffix = ids;
  const auto state = one->start_batch({}, std::span(&sequence, 1)).value()->save_state(0);
  ASSERT_TRUE(state.ok()) << state.error().message;
  const auto more = one->tokenize(" o'clock", SpecialTokens::kAsText).value().ids;
  BatchSequence kept;
  kept.state = &*state;
  kept.suffix = more;
  EXPECT_FALSE(plain->start_batch({}, std::span(&kept, 1)).ok());
  EXPECT_TRUE(one->start_batch({}, std::span(&kept, 1)).ok());
}

TEST_F(LlamaAdapter, WhatIsNoAdapterForTheModelIsRefusedByName) {
  EXPECT_EQ(refused(path("none.gguf")).code, ErrorCode::kNotFound);
  AdapterForm other;
  other.architecture = "qwen2";
  write_adapter(path("qwen2.gguf"), other);
  const Error architecture = refused(path("qwen2.gguf"));
  EXPECT_EQ(architecture.code, ErrorCode::kInvalidInput);
  EXPECT_NE(architecture.message.find("qwen2.gguf"), std::string::npos) << architecture.message;
  EXPECT_NE(architecture.message.find("arch"), std::string::npos) << architecture.message;
  AdapterForm shape;
  shape.outputs = 575;
  write_adapter(path("shape.gguf"), shape);
  EXPECT_NE(refused(path("shape.gguf")).message.find("shape"), std::string::npos);
  // A whole model is no adapter.
  EXPECT_EQ(refused(test::small_model_path()).code, ErrorCode::kInvalidInput);
  LlamaOptions options;
  options.adapter_scale = 11;
  EXPECT_EQ(load_llama_model(test::small_model_path(), options).error().code, ErrorCode::kInvalidOption);
}

}  // namespace
}  // namespace casemate
