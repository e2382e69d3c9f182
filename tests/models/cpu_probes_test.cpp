#include "models/cpu_probes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#if defined(__x86_64__)
namespace {

void do_nothing() {}
void trap() { __asm__ volatile("ud2"); }

TEST(CpuProbes, WhatTrapsDoesNotRunWhateverIsAnnounced) {
  const cpu_probe good = {"good", "", 1, do_nothing};
  const cpu_probe bad = {"bad", "", 1, trap};
  EXPECT_EQ(cpu_probe_runs(&good), 1);
  EXPECT_EQ(cpu_probe_runs(&bad), 0);
}

TEST(CpuProbes, AmxIsLookedAtButNeverProposedToTheBuild) {
  cpu_probe probes[kCpuProbes];
  list_cpu_probes(probes);
  std::set<std::string> names;
  for (const cpu_probe& probe : probes) {
    EXPECT_TRUE(names.insert(probe.name).second);
    EXPECT_EQ(std::string(probe.llama_option).empty(), std::string(probe.name) == "amx");
  }
}

}  // namespace
#endif
