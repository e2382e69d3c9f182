#include <nlohmann/json.hpp>

#include "models/models_fixture.h"

namespace casemate::test {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 255U);
  return out;
}

/// One tensor of eight bytes, as https://huggingface.co/docs/safetensors lays it out.
std::string safetensors() {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  return little_endian(header.size(), 8) + header + std::string(8, '\1');
}

std::string gguf(std::uint64_t version = 3, std::uint64_t tensors = 1) {
  return "GGUF" + little_endian(version, 4) + little_endian(tensors, 8) + little_endian(0, 8) + std::string(64, '\2');
}

class Import : public ::testing::Test {
 protected:
  void SetUp() override {
    put("config.json", R"({"model_type": "bert", "architectures": ["BertModel"]})");
    put("model.safetensors", safetensors());
    put("tokenizer.json", "{}");
    put("1_Pooling/config.json", "{}");
    put("pytorch_model.bin", "pickle");
  }
  void put(const std::string& name, const std::string& bytes) const {
    write_bytes(folder_.path("source/" + name), bytes);
  }
  void remove(const std::string& name) const { std::filesystem::remove(folder_.path("source/" + name)); }
  [[nodiscard]] std::string at(const std::string& name) const { return folder_.path("models/" + name); }
  Result<StoredModel> import(const std::string& name = "e5", const ImportOptions& options = {}) {
    return models_.import(folder_.path("source"), name, options);
  }
  std::string problem() {
    const auto info = import();
    if (info.ok()) return "(none)";
    EXPECT_FALSE(exists(at("e5")));
    EXPECT_FALSE(exists(at(".e5.import")));
    return info.error().message;
  }

  TemporaryFolder folder_;
  ModelStore models_ = open_store(folder_.path("models"), model_yaml("m", file_yaml("a", "alpha", hub_yaml("a"))));
};

TEST_F(Import, AFolderIsCopiedWithARecordAndFoundAfterwards) {
  ImportOptions options;
  options.overrides.query_prefix = "query: ";
  options.overrides.pooling = "mean";
  options.licence = "MIT";
  const auto info = import("e5", options);
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_TRUE(info->imported);
  EXPECT_EQ(info->state, ModelState::kPresent);
  EXPECT_EQ(info->entry.purpose, ModelPurpose::kEncoder);
  EXPECT_EQ(info->entry.licence, "MIT");
  EXPECT_EQ(info->entry.description, "BertModel");
  EXPECT_EQ(info->overrides.query_prefix, "query: ");
  EXPECT_EQ(info->overrides.passage_prefix, std::nullopt);
  EXPECT_EQ(info->overrides.pooling, "mean");
  EXPECT_EQ(info->created.size(), 20U);
  EXPECT_EQ(*models_.path_of("e5"), at("e5"));
  EXPECT_EQ(read_bytes(at("e5/model.safetensors")), safetensors());
  EXPECT_TRUE(exists(at("e5/1_Pooling/config.json")));
  EXPECT_FALSE(exists(at("e5/pytorch_model.bin")));
  const auto record = nlohmann::json::parse(read_bytes(at("e5/casemate-model.json")));
  EXPECT_EQ(record["files"][1]["sha256"], hex_sha256(safetensors()));
  EXPECT_EQ(models_.list()->size(), 2U);
  EXPECT_TRUE(models_.verify("e5")->ok());
  EXPECT_EQ(models_.pull("e5", {}, Progress::none()).error().code, ErrorCode::kUnsupported);
}

TEST_F(Import, DamageAfterwardsIsFound) {
  ASSERT_TRUE(import().ok());
  std::string bytes = safetensors();
  bytes.back() = 'x';
  write_bytes(at("e5/model.safetensors"), bytes);
  EXPECT_EQ(models_.find("e5")->state, ModelState::kPresent);  // sizes only
  EXPECT_FALSE(models_.verify("e5")->ok());
  std::filesystem::remove(at("e5/model.safetensors"));
  EXPECT_EQ(models_.find("e5")->state, ModelState::kDamaged);
  EXPECT_EQ(models_.path_of("e5").error().code, ErrorCode::kCorrupt);
}

TEST_F(Import, ABrokenRecordMakesTheModelDamagedAndHidesNoOther) {
  ASSERT_TRUE(import("aa").ok());
  ASSERT_TRUE(import("bb").ok());
  const std::string whole = read_bytes(at("aa/casemate-model.json"));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), whole.substr(0, whole.size() / 2),
        std::string(R"({"format": 2})"), std::string(R"({"format": 1, "name": 5})"),
        std::string(whole).replace(whole.find("config.json"), 11, "../../x.jso")}) {
    write_bytes(at("aa/casemate-model.json"), text);
    const auto list = models_.list();
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->size(), 3U);
    EXPECT_EQ((*list)[1].state, ModelState::kDamaged) << text;
    EXPECT_EQ((*list)[2].state, ModelState::kPresent);
    EXPECT_FALSE(models_.path_of("aa").ok());
    EXPECT_FALSE(models_.verify("aa")->ok());
  }
}

TEST_F(Import, TheHeadTellsThePurpose) {
  put("config.json", R"({"model_type": "roberta", "architectures": ["RobertaForQuestionAnswering"]})");
  EXPECT_EQ(import("qa")->entry.purpose, ModelPurpose::kReader);
  put("config.json", R"({"model_type": "xlm-roberta", "architectures": ["XLMRobertaForSequenceClassification"]})");
  EXPECT_EQ(import("rr")->entry.purpose, ModelPurpose::kReranker);
  put("config.json", R"({"model_type": "distilbert"})");
  EXPECT_EQ(import("db")->entry.description, "distilbert");
  ImportOptions options;
  options.purpose = ModelPurpose::kLanguageModel;
  EXPECT_EQ(import("lm", options).error().code, ErrorCode::kInvalidOption);
}

TEST_F(Import, PromptsOfTheFolderBecomePrefixesUnlessOverruled) {
  put("config_sentence_transformers.json", R"({"prompts": {"query": "q: ", "document": "d: ", "other": 3}})");
  ImportOptions options;
  options.overrides.passage_prefix = "p: ";
  const auto info = import("e5", options);
  EXPECT_EQ(info->overrides.query_prefix, "q: ");
  EXPECT_EQ(info->overrides.passage_prefix, "p: ");
}

TEST_F(Import, FoldersThatCannotBeRunAreRefusedWithTheReason) {
  put("config.json", R"({"model_type": "t5"})");
  EXPECT_NE(problem().find("model_type \"t5\" is not one of bert"), std::string::npos);
  put("config.json", "{}");
  EXPECT_NE(problem().find("model_type \"\""), std::string::npos);
  put("config.json", "{");
  EXPECT_NE(problem().find("config.json: is not a JSON object"), std::string::npos);
  remove("config.json");
  EXPECT_NE(problem().find("config.json: is missing"), std::string::npos);
  put("config.json", R"({"model_type": "bert"})");
  remove("tokenizer.json");
  EXPECT_NE(problem().find("has no tokenizer"), std::string::npos);
  put("vocab.txt", "[PAD]\n");
  remove("model.safetensors");
  EXPECT_NE(problem().find("a pickle, which can run code"), std::string::npos);
  remove("pytorch_model.bin");
  EXPECT_NE(problem().find("model.safetensors: is missing"), std::string::npos);
  put("model.safetensors.index.json", "{}");
  EXPECT_NE(problem().find("several files"), std::string::npos);
  put("model.safetensors", safetensors());
  EXPECT_EQ(problem(), "(none)");
}

TEST_F(Import, BrokenWeightsAreRefused) {
  const std::string whole = safetensors();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    put("model.safetensors", whole.substr(0, cut));
    EXPECT_NE(problem(), "(none)") << cut;
  }
  put("model.safetensors", whole + "x");
  EXPECT_NE(problem().find("is the download complete"), std::string::npos);
  put("model.safetensors", little_endian(~UINT64_C(0), 8) + "{}");
  EXPECT_NE(problem(), "(none)");
  put("model.safetensors", little_endian(100'000, 8) + std::string(100'000, '['));
  EXPECT_NE(problem(), "(none)");
}

TEST_F(Import, AGgufFileIsALanguageModel) {
  write_bytes(folder_.path("tiny.gguf"), gguf());
  const auto info = models_.import(folder_.path("tiny.gguf"), "tiny", {});
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->entry.purpose, ModelPurpose::kLanguageModel);
  EXPECT_EQ(*models_.path_of("tiny"), at("tiny/tiny.gguf"));
  EXPECT_EQ(read_bytes(at("tiny/tiny.gguf")), gguf());
  for (const std::string& bytes : {std::string(), std::string("GGUF"), std::string(100, 'x'), gguf(1), gguf(4),
                                   gguf(3, 0), gguf(3, ~UINT64_C(0))}) {
    write_bytes(folder_.path("bad.gguf"), bytes);
    EXPECT_FALSE(models_.import(folder_.path("bad.gguf"), "bad", {}).ok()) << bytes.size();
  }
  EXPECT_FALSE(exists(at("bad")));
}

TEST_F(Import, NamesAreGuarded) {
  for (const char* name : {"..", "../x", "a/b", "", ".e5", "E5", "a b"}) {
    EXPECT_EQ(import(name).error().code, ErrorCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(import("m").error().code, ErrorCode::kAlreadyExists);  // the manifest's
  ASSERT_TRUE(import("e5").ok());
  EXPECT_EQ(import("e5").error().code, ErrorCode::kAlreadyExists);
  EXPECT_EQ(models_.import(folder_.path("nowhere"), "x", {}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(models_.import("/dev/null", "x", {}).error().code, ErrorCode::kUnsupported);
}

TEST_F(Import, HardLinksShareTheBytesAndFollowSymlinksToThem) {
  std::filesystem::rename(folder_.path("source/model.safetensors"), folder_.path("blob"));
  std::filesystem::create_symlink(folder_.path("blob"), folder_.path("source/model.safetensors"));
  ImportOptions options;
  options.hard_link = true;
  ASSERT_TRUE(import("e5", options).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(at("e5/model.safetensors")));
  EXPECT_EQ(std::filesystem::hard_link_count(folder_.path("blob")), 2U);
  EXPECT_TRUE(models_.verify("e5")->ok());
}

TEST_F(Import, AStoppedImportLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto info = models_.import(folder_.path("source"), "e5", {}, Progress::none(), stop.get_token());
  EXPECT_EQ(info.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(exists(at("e5")));
  EXPECT_FALSE(exists(at(".e5.import")));
}

}  // namespace
}  // namespace casemate::test
