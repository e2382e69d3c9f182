#include "casemate/models/manifest.h"

#include <gtest/gtest.h>

#include "models/models_fixture.h"

namespace casemate::test {
namespace {

std::string problem(const std::string& text) {
  const auto manifest = parse_manifest(text, "m.yaml");
  return manifest.ok() ? "(none)" : manifest.error().message;
}

const std::string kHash(64, 'a');

std::string one_file(const std::string& fields) { return model_yaml("m", "      - {" + fields + "}\n"); }
std::string with_source(const std::string& source) {
  return one_file("name: f, bytes: 10, sha256: " + kHash + ", sources: [" + source + "]");
}

TEST(Manifest, TheBuiltInOneHasTheThreeModelsWithTheirPublishedHashes) {
  const auto manifest = builtin_manifest();
  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  ASSERT_EQ(manifest->models.size(), 3U);
  const ModelEntry* minilm = manifest->find("all-minilm-l6-v2");
  ASSERT_NE(minilm, nullptr);
  EXPECT_EQ(minilm->purpose, ModelPurpose::kEncoder);
  EXPECT_EQ(minilm->files.size(), 9U);
  EXPECT_EQ(minilm->files.back().sha256, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db");
  const ModelEntry* qwen = manifest->find("qwen2.5-coder-0.5b-instruct-q4_k_m");
  ASSERT_NE(qwen, nullptr);
  EXPECT_EQ(qwen->bytes(), 491'400'064U);
  EXPECT_EQ(qwen->files.front().sha256, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32");
  EXPECT_EQ(qwen->files.front().sources.back().wheel.members.size(), 6U);
  const ModelEntry* smollm = manifest->find("smollm2-135m-instruct-q4_1");
  ASSERT_NE(smollm, nullptr);
  EXPECT_EQ(smollm->files.front().sha256, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53");
}

TEST(Manifest, TheFileInTheTreeIsTheBuiltInOne) {
  const auto built_in = builtin_manifest();
  const auto file = load_manifest(std::string(CASEMATE_SOURCE_DIR) + "/models/manifest.yaml");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->models.size(), built_in->models.size());
  for (std::size_t i = 0; i < file->models.size(); ++i) {
    EXPECT_EQ(file->models[i].name, built_in->models[i].name);
    EXPECT_EQ(file->models[i].bytes(), built_in->models[i].bytes());
  }
}

TEST(Manifest, UnknownKeysAreRefusedWithLineAndNearestName) {
  EXPECT_EQ(problem("models:\n  - name: a\n    purpos: encoder\n"), "m.yaml:2: models[0]: \"purpose\" is missing");
  EXPECT_EQ(problem("model: []"), "m.yaml:1: \"models\" is missing");
  EXPECT_EQ(problem(one_file("name: f, bytes: 1, sha_256: x, sha256: " + kHash + ", sources: []")),
            "m.yaml:7: models[0].files[0].sha_256: unknown key \"sha_256\" (did you mean \"sha256\"?)");
  EXPECT_NE(problem("models:\n  - {name: a, purpose: encodr, licence: x, description: y, files: []}")
                .find("is no purpose of a model (did you mean \"encoder\"?)"),
            std::string::npos);
}

TEST(Manifest, NamesAndPathsThatCouldLeaveTheStoreAreRefused) {
  for (const char* name : {"..", ".hidden", "a/b", "A", "a b", "", "-a", "a\\n"}) {
    EXPECT_FALSE(parse_manifest(model_yaml("\"" + std::string(name) + "\"", "      []\n"), "m").ok()) << name;
    EXPECT_FALSE(check_model_name(name).ok()) << name;
  }
  EXPECT_FALSE(check_model_name(std::string(65, 'a')).ok());
  EXPECT_TRUE(check_model_name("qwen2.5-coder_x").ok());
  for (const char* file :
       {"../x", "/x", "a/../b", "a//b", ".x", "a/.x", "x.part", "casemate-model.json", "a b", "a/b/c/d/e"}) {
    const std::string text = one_file("name: \"" + std::string(file) + "\", bytes: 1, sha256: " + kHash +
                                      ", sources: [" + hub_yaml("f") + "]");
    EXPECT_NE(problem(text).find("is no safe path"), std::string::npos) << file << ": " << problem(text);
  }
  for (const char* package :
       {"--index-url=http://x", "a", "a>=1", "a==", "==1", "a==1 -r x", "git+https://x==1", "a @ x==1"}) {
    const std::string text = with_source("{pypi: {packages: [\"" + std::string(package) + "\"], members: [m]}}");
    EXPECT_NE(problem(text).find("must be name==version"), std::string::npos) << package << ": " << problem(text);
  }
}

TEST(Manifest, SizesOfMembersMustAddUp) {
  const auto parts = [](const std::string& sizes) {
    return with_source("{pypi: {packages: [a==1, b==1], members: [x, y]" + sizes + "}}");
  };
  EXPECT_EQ(problem(parts(", member_bytes: [4, 6]")), "(none)");
  EXPECT_NE(problem(parts(", member_bytes: [4, 5]")).find("add up to 9, the file has 10"), std::string::npos);
  EXPECT_NE(problem(parts("")).find("member_bytes is missing"), std::string::npos);
  EXPECT_NE(problem(parts(", member_bytes: [10]")).find("one size for each member"), std::string::npos);
  EXPECT_NE(problem(with_source("{}")).find("either hugging-face or pypi"), std::string::npos);
  EXPECT_NE(problem(one_file("name: f, bytes: 0, sha256: x, sources: []")).find("bytes: must be an integer in 1"),
            std::string::npos);
  EXPECT_NE(problem(one_file("name: f, bytes: 1, sha256: xyz, sources: []")).find("64 lowercase"), std::string::npos);
}

TEST(Manifest, WhatStandsTwiceIsRefused) {
  const std::string file = file_yaml("f", "x", hub_yaml("f"));
  EXPECT_NE(problem(model_yaml("m", file + file)).find("\"f\" stands here twice"), std::string::npos);
  const std::string model = model_yaml("m", file);
  EXPECT_NE(problem(model + model.substr(model.find("  - name"))).find("\"m\" stands here twice"), std::string::npos);
}

TEST(Manifest, DamagedFilesAreErrorsNotCrashes) {
  const std::string whole = read_bytes(std::string(CASEMATE_SOURCE_DIR) + "/models/manifest.yaml");
  ASSERT_GT(whole.size(), 1000U);
  for (std::size_t cut = 0; cut < whole.size(); cut += 37) {
    (void)parse_manifest(whole.substr(0, cut), "m");
    std::string flipped = whole;
    flipped[cut] = static_cast<char>(flipped[cut] ^ 0x15);
    (void)parse_manifest(flipped, "m");
  }
  EXPECT_FALSE(parse_manifest("", "m").ok());
  EXPECT_EQ(load_manifest("/nowhere/m.yaml").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace casemate::test
