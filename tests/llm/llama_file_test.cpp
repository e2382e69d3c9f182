#include "llm/llama_file.h"

#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <vector>

#include "support/temporary_folder.h"

namespace casemate::llm {
namespace {

/// Of a file with these tensors, each `columns` by `rows`.
struct Shape {
  ggml_type type = GGML_TYPE_F32;
  int columns = 256;
  int rows = 2;
};

std::size_t rows_of_equal_bits(const std::vector<Shape>& shapes) {
  const test::TemporaryFolder folder;
  ggml_context* tensors = ggml_init({8U << 20U, nullptr, false});
  gguf_context* file = gguf_init_empty();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ggml_tensor* tensor = ggml_new_tensor_2d(tensors, shapes[i].type, shapes[i].columns, shapes[i].rows);
    ggml_set_name(tensor, ("tensor" + std::to_string(i)).c_str());
    gguf_add_tensor(file, tensor);
  }
  gguf_write_to_file(file, folder.path("model.gguf").c_str(), false);
  gguf_free(file);
  ggml_free(tensors);
  const auto looked = look_at_gguf_file(folder.path("model.gguf"));
  EXPECT_TRUE(looked.ok()) << looked.error().message;
  return looked ? looked->rows_of_equal_bits : 0;
}

constexpr std::size_t kMoreThanAnyStepHas = 255;

TEST(GgufFile, TheFormatThatBearsTheFewestRowsCounts) {
  for (const ggml_type blocks : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0})
    EXPECT_GT(rows_of_equal_bits({{blocks}}), kMoreThanAnyStepHas) << ggml_type_name(blocks);
  for (const ggml_type k : {GGML_TYPE_Q2_K, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS})
    EXPECT_EQ(rows_of_equal_bits({{k}}), 7U) << ggml_type_name(k);
  for (const ggml_type plain : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16})
    EXPECT_EQ(rows_of_equal_bits({{plain}}), 1U) << ggml_type_name(plain);
  EXPECT_EQ(rows_of_equal_bits({{GGML_TYPE_Q8_0}, {GGML_TYPE_Q4_K}, {GGML_TYPE_Q8_0}}), 7U);
  EXPECT_EQ(rows_of_equal_bits({{GGML_TYPE_Q4_K}, {GGML_TYPE_F16}}), 1U);
}

TEST(GgufFile, NormsAndBiasesAreNotMultipliedWith) {
  EXPECT_GT(rows_of_equal_bits({{GGML_TYPE_Q8_0}, {GGML_TYPE_F32, 256, 1}}), kMoreThanAnyStepHas);
  EXPECT_EQ(rows_of_equal_bits({{GGML_TYPE_F32, 256, 1}, {GGML_TYPE_Q4_K}}), 7U);
}

}  // namespace
}  // namespace casemate::llm
