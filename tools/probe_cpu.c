/* Prints, one a line, the llama.cpp CMake options whose instructions really run here. AMX is never proposed. Used by
 * tools/setup; on other processors than x86-64 it prints nothing and llama.cpp is built for the plain architecture. */
#include <stdio.h>

#include "../src/models/cpu_probes.h"

int main(void) {
#if defined(__x86_64__)
  struct cpu_probe probes[kCpuProbes];
  list_cpu_probes(probes);
  for (int i = 0; i < kCpuProbes; ++i) {
    if (probes[i].llama_option[0] == '\0') continue;
    printf("-D%s=%s\n", probes[i].llama_option, probes[i].announced && cpu_probe_runs(&probes[i]) ? "ON" : "OFF");
  }
#endif
  return 0;
}
