// tests/models/models_fixture.h
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zip.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "casemate/core/hash.h"
#include "casemate/models/model_store.h"
#include "support/temporary_folder.h"

namespace casemate::test {

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline bool exists(const std::string& path) { return std::filesystem::exists(path); }
inline std::string hex_sha256(const std::string& bytes) { return to_hex(sha256(bytes)); }

/// Bytes that do not compress and do not repeat.
inline std::string noise(std::size_t size, std::uint32_t seed = 1) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525U + 1013904223U;
    byte = static_cast<char>(seed >> 24U);
  }
  return bytes;
}

/// A zip file with these members.
inline void write_wheel(const std::string& path, const std::map<std::string, std::string>& members) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    ASSERT_GE(zip_file_add(archive, name.c_str(), source, 0), 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

/// Keeps what was reported.
class CollectingProgress final : public Progress {
 public:
  void begin(std::string_view stage, std::uint64_t total, std::string_view unit) override {
    stages.push_back(std::string(stage) + " " + std::to_string(total) + " " + std::string(unit));
  }
  void update(std::uint64_t done) override {
    last = done;
    if (on_update) on_update(done);
  }
  void note(std::string_view message) override { notes.emplace_back(message); }
  void end() override { ++ends; }

  [[nodiscard]] std::string all_notes() const {
    std::string all;
    for (const std::string& note : notes) all += note + "\n";
    return all;
  }

  std::vector<std::string> stages;
  std::vector<std::string> notes;
  std::uint64_t last = 0;
  int ends = 0;
  std::function<void(std::uint64_t)> on_update;
};

/// A program that stands for python3: `-m pip download ... -d DIR NAME==VERSION` copies NAME.whl of `wheels` to DIR and
/// writes the package's name into `log`.
inline std::string write_fake_python(const TemporaryFolder& folder, const std::string& before_copying = "") {
  const std::string path = folder.path("python3");
  std::ofstream(path) << "#!/bin/sh\n"
                      << "while [ $# -gt 1 ]; do [ \"$1\" = -d ] && out=$2; shift; done\n"
                      << "name=${1%%==*}\n"
                      << "echo \"$name\" >> " << folder.path("log") << "\n"
                      << before_copying << "\n"
                      << "if [ ! -f " << folder.path("wheels") << "/$name.whl ]; then\n"
                      << "  echo 'Looking in indexes'\n"
                      << "  echo \"ERROR: No matching distribution found for $1\" >&2; exit 1\n"
                      << "fi\n"
                      << "cp " << folder.path("wheels") << "/$name.whl \"$out/\"\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

inline ModelStore open_store(const std::string& root, const std::string& manifest) {
  auto parsed = parse_manifest(manifest, "test.yaml");
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  if (!parsed.ok()) std::abort();
  return *ModelStore::open(root, *std::move(parsed));
}

/// One file of a manifest, indented for its list.
inline std::string file_yaml(const std::string& name, const std::string& bytes, const std::string& sources) {
  return "      - {name: " + name + ", bytes: " + std::to_string(bytes.size()) + ", sha256: " + hex_sha256(bytes) +
         ", sources: [" + sources + "]}\n";
}
inline std::string model_yaml(const std::string& name, const std::string& files) {
  return "models:\n  - name: " + name +
         "\n    purpose: encoder\n    licence: MIT\n    description: a test\n    files:\n" + files;
}
inline std::string hub_yaml(const std::string& file) {
  return "{hugging-face: {repository: owner/repo, revision: main, file: " + file + "}}";
}

}  // namespace casemate::test
