#include "casemate/models/doctor.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "models/models_fixture.h"

namespace casemate::test {
namespace {

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.cache_folder = folder_.path("cache");
    options_.search_path = folder_.path("bin");
  }
  DoctorItem item(const std::string& name) const { return item_of(run_doctor(options_, models_), name); }
  static DoctorItem item_of(const std::vector<DoctorItem>& items, const std::string& name) {
    const auto found = std::find_if(items.begin(), items.end(), [&](const DoctorItem& i) { return i.name == name; });
    EXPECT_NE(found, items.end()) << name;
    return found == items.end() ? DoctorItem{} : *found;
  }

  TemporaryFolder folder_;
  DoctorOptions options_;
  ModelStore models_ = open_store(folder_.path("models"), model_yaml("m", file_yaml("a", "alpha", hub_yaml("a"))));
};

TEST_F(Doctor, EveryItemThatIsNotOkSaysWhatToDo) {
  options_.search_path = "/usr/bin:/bin";
  options_.extra = {{"gpu", DoctorStatus::kWarning, "none", "nothing"}};
  const auto items = run_doctor(options_, models_);
  for (const DoctorItem& i : items) {
    EXPECT_FALSE(i.name.empty());
    EXPECT_FALSE(i.detail.empty()) << i.name;
    if (i.status != DoctorStatus::kOk) {
      EXPECT_FALSE(i.remedy.empty()) << i.name << ": " << i.detail;
    }
  }
  EXPECT_EQ(items.back().name, "gpu");
  for (const char* name : {"cpu", "simd", "cores", "memory", "cache", "clock", "sqlite", "icu", "onednn"}) {
    EXPECT_NE(item_of(items, name).status, DoctorStatus::kFailed) << name << ": " << item_of(items, name).detail;
  }
}

TEST_F(Doctor, WhatTheKernelListsAsRunningWasAnnounced) {
  for (const CpuFeature& feature : probe_cpu_features()) {
    if (feature.runs) {
      EXPECT_TRUE(feature.announced) << feature.name;
    }
  }
#if defined(__x86_64__)
  // The system's own list of what the processor announces.
  const std::string info = read_bytes("/proc/cpuinfo");
  const auto flag = [&](const std::string& name) { return info.find(" " + name + " ") != std::string::npos; };
  for (const auto& [feature, name] : {std::pair("avx2", "avx2"), std::pair("fma", "fma"),
                                      std::pair("avx512-vnni", "avx512_vnni"), std::pair("amx", "amx_tile")}) {
    for (const CpuFeature& probed : probe_cpu_features()) {
      if (probed.name == feature) {
        EXPECT_EQ(probed.announced, flag(name)) << feature;
      }
    }
  }
#endif
}

TEST_F(Doctor, ModelsAreListedWithTheCommandThatMendsThem) {
  EXPECT_EQ(item("model m").status, DoctorStatus::kMissing);
  EXPECT_EQ(item("model m").remedy, "casemate models pull m");
  write_bytes(folder_.path("models/m/a"), "alph");
  EXPECT_EQ(item("model m").status, DoctorStatus::kFailed);
  write_bytes(folder_.path("models/m/a"), "alpha");
  EXPECT_EQ(item("model m").status, DoctorStatus::kOk);
}

TEST_F(Doctor, ProgramsThatAreMissingOrBrokenAreTold) {
  options_.reader_program = folder_.path("casemate-reader");
  EXPECT_EQ(item("pdftotext").status, DoctorStatus::kMissing);
  EXPECT_EQ(item("casemate-reader").status, DoctorStatus::kMissing);
  EXPECT_EQ(item("pip").status, DoctorStatus::kWarning);
  for (const char* name : {"bin/pdftotext", "bin/python3", "casemate-reader"}) {
    write_bytes(folder_.path(name), "#!/bin/sh\necho version 7 >&2\n");
    ::chmod(folder_.path(name).c_str(), 0755);
  }
  EXPECT_EQ(item("pdftotext").status, DoctorStatus::kOk);
  EXPECT_EQ(item("pdftotext").detail, "version 7 (" + folder_.path("bin/pdftotext") + ")");
  EXPECT_EQ(item("pip").status, DoctorStatus::kOk);
  EXPECT_EQ(item("casemate-reader").status, DoctorStatus::kOk);
  write_bytes(folder_.path("bin/pdftotext"), "#!/bin/sh\necho cannot load >&2; exit 1\n");
  EXPECT_EQ(item("pdftotext").status, DoctorStatus::kFailed);
  EXPECT_NE(item("pdftotext").detail.find("cannot load"), std::string::npos);
}

TEST_F(Doctor, ACacheThatCannotBeWrittenFailsAndALittleRoomWarns) {
  EXPECT_EQ(item("cache").status, DoctorStatus::kOk);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path("cache")));
  options_.want_free_bytes = UINT64_C(1) << 60U;
  EXPECT_EQ(item("cache").status, DoctorStatus::kWarning);
  write_bytes(folder_.path("file"), "");
  options_.cache_folder = folder_.path("file/cache");
  EXPECT_EQ(item("cache").status, DoctorStatus::kFailed);
}

TEST(FindProgram, OnlyExecutablesInAbsoluteFoldersCount) {
  const TemporaryFolder folder;
  write_bytes(folder.path("a/tool"), "");
  write_bytes(folder.path("b/tool"), "");
  ::chmod(folder.path("b/tool").c_str(), 0755);
  EXPECT_EQ(find_program("tool", folder.path("a") + ":" + folder.path("b")), folder.path("b/tool"));
  EXPECT_EQ(find_program("tool", folder.path("a")), "");
  EXPECT_EQ(find_program("b/tool", folder.root()), "");
  EXPECT_EQ(find_program("tool", ""), "");
  EXPECT_EQ(find_program("", "/usr/bin"), "");
  EXPECT_EQ(find_program("sh", ".:relative::/bin"), "/bin/sh");
}

}  // namespace
}  // namespace casemate::test
