#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "casemate/core/file_system.h"
#include "casemate/core/random.h"
#include "casemate/encoder/bert_encoder.h"
#include "casemate/encoder/checkpoint.h"
#include "support/temporary_folder.h"
#include "support/tiny_checkpoint.h"

namespace casemate {
namespace {

class SafetensorsTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    const std::string path = folder_.path("model.safetensors");
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string with_header(const std::string& header, std::size_t data_bytes) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
    return out + header + std::string(data_bytes, '\0');
  }
  void expect_refused(const std::string& bytes, const std::string& word) {
    const std::string path = write(bytes);
    const auto file = SafetensorsFile::open(path);
    ASSERT_FALSE(file.ok()) << word;
    EXPECT_NE(file.error().message.find(path), std::string::npos) << file.error().message;
    EXPECT_NE(file.error().message.find(word), std::string::npos) << file.error().message;
  }
  test::TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, ReadsWhatWasWritten) {
  const auto file =
      SafetensorsFile::open(write(test::safetensors_bytes({{"a", {{2, 2}, {1, 2, 3, 4}}}, {"b", {{1}, {-5}}}})));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::uint64_t square[] = {2, 2};
  EXPECT_EQ(*(*file)->read("a", square), (std::vector<float>{1, 2, 3, 4}));
  const std::uint64_t wrong[] = {4};
  EXPECT_EQ((*file)->read("a", wrong).error().code, ErrorCode::kMismatch);
  EXPECT_EQ((*file)->read("c", wrong).error().code, ErrorCode::kNotFound);
}

TEST_F(SafetensorsTest, HalfPrecisionIsConverted) {
  std::string bytes = with_header(
      R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})",
      0);
  // 1.0, -2.5, the smallest subnormal and infinity in binary16; 1.5 in bfloat16.
  const unsigned char data[] = {0x00, 0x3C, 0x00, 0xC1, 0x01, 0x00, 0x00, 0x7C, 0xC0, 0x3F};
  bytes.append(reinterpret_cast<const char*>(data), sizeof data);
  const auto file = SafetensorsFile::open(write(bytes));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const std::uint64_t four[] = {4};
  EXPECT_EQ(*(*file)->read("h", four),
            (std::vector<float>{1.0F, -2.5F, 0x1p-24F, std::numeric_limits<float>::infinity()}));
  const std::uint64_t one[] = {1};
  EXPECT_EQ(*(*file)->read("b", one), std::vector<float>{1.5F});
}

TEST_F(SafetensorsTest, DamagedHeadersAreRefusedByName) {
  expect_refused("", "too short");
  expect_refused(std::string(8, '\xff'), "claims");
  expect_refused(with_header("not json", 0), "JSON");
  expect_refused(with_header("[]", 0), "JSON");
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4), "lie outside");
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "lie outside");
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "need 12 bytes");
  expect_refused(with_header(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8), "dtype");
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "non-negative");
  expect_refused(
      with_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})", 8),
      "too large");
  expect_refused(with_header(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "data_offsets");
  expect_refused(with_header(std::string(100000, '['), 0), "JSON");
}

TEST_F(SafetensorsTest, EveryTruncationAndManyFlipsEndInAnErrorOrAWholeModel) {
  test::write_tiny_checkpoint(folder_.root(), Architecture::kBert, Head::kNone, false);
  const std::string path = folder_.path("model.safetensors");
  const std::string whole = *read_file(path);
  const ThreadPool pool(1);
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    write(whole.substr(0, size));
    EXPECT_FALSE(load_bert_encoder(folder_.root(), {}, pool).ok()) << size;
  }
  RandomStream random(3, "flips");
  for (int i = 0; i < 200; ++i) {
    std::string damaged = whole;
    damaged[random.below(3000)] ^= static_cast<char>(1U << random.below(8));
    write(damaged);
    (void)load_bert_encoder(folder_.root(), {}, pool).ok();  // must not crash; a flip inside a name or weight may load
  }
}

TEST_F(SafetensorsTest, AModelOfNotANumberIsAnErrorThatNamesTheText) {
  const auto tiny = test::write_tiny_checkpoint(folder_.root(), Architecture::kBert, Head::kNone, false);
  std::string bytes = *read_file(folder_.path("model.safetensors"));
  // All weights become NaN, so every embedding does.
  std::uint64_t header = 0;
  for (std::size_t i = 8; i-- > 0;) header = (header << 8U) | static_cast<unsigned char>(bytes[i]);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(8 + header), bytes.end(), '\xff');
  write(bytes);
  const ThreadPool pool(1);
  const auto encoder = load_bert_encoder(folder_.root(), {}, pool);
  ASSERT_TRUE(encoder.ok());
  const std::string_view texts[] = {"tide"};
  const auto result = (*encoder)->encode(texts, {});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kModel);
  EXPECT_NE(result.error().message.find("text 0"), std::string::npos);
}

TEST_F(SafetensorsTest, APickledModelIsRefusedWithTheReason) {
  test::write_tiny_checkpoint(folder_.root(), Architecture::kBert, Head::kNone, false);
  ASSERT_TRUE(FileSystem::posix().rename(folder_.path("model.safetensors"), folder_.path("pytorch_model.bin")).ok());
  const ThreadPool pool(1);
  const auto encoder = load_bert_encoder(folder_.root(), {}, pool);
  ASSERT_FALSE(encoder.ok());
  EXPECT_NE(encoder.error().message.find("pickle"), std::string::npos);
}

TEST(ModelConfigTest, BrokenFieldsAreNamed) {
  const auto refused = [](const char* text, const char* word) {
    const auto config = parse_model_config(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_NE(config.error().message.find(word), std::string::npos) << config.error().message;
  };
  refused("", "JSON");
  refused("{}", "model_type");
  refused(R"({"model_type":"gpt2"})", "gpt2");
  refused(R"({"model_type":"bert"})", "num_hidden_layers");
  const std::string rest =
      R"("num_attention_heads":3,"intermediate_size":8,"vocab_size":9,"max_position_embeddings":16)";
  refused((R"({"model_type":"bert","num_hidden_layers":-1,"hidden_size":12,)" + rest + "}").c_str(),
          "num_hidden_layers");
  refused((R"({"model_type":"bert","num_hidden_layers":1,"hidden_size":13,)" + rest + "}").c_str(), "multiple");
  refused((R"({"model_type":"bert","num_hidden_layers":1,"hidden_size":12,"hidden_act":"swish",)" + rest + "}").c_str(),
          "swish");
  refused((R"({"model_type":"bert","num_hidden_layers":1,"hidden_size":12,"position_embedding_type":"relative_key",)" +
           rest + "}")
              .c_str(),
          "relative_key");
}

}  // namespace
}  // namespace casemate
