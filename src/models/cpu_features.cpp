#include "casemate/models/doctor.h"
#include "models/cpu_probes.h"

namespace casemate {

std::vector<CpuFeature> probe_cpu_features() {
  std::vector<CpuFeature> features;
#if defined(__x86_64__)
  cpu_probe probes[kCpuProbes];
  list_cpu_probes(probes);
  for (const cpu_probe& probe : probes) {
    const bool announced = probe.announced != 0;
    features.push_back({probe.name, announced, announced && cpu_probe_runs(&probe) != 0});
  }
#endif
  return features;
}

}  // namespace casemate
