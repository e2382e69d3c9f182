// src/core/kernel_choice.h: which of a kernel's implementations runs on this processor.
#pragma once

#include <span>

namespace casemate::kernels {

inline bool runs_everywhere() { return true; }

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
inline bool has_fma() { return __builtin_cpu_supports("fma") != 0; }
/// AVX-512 with integer dot products.
inline bool has_vnni() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}
#endif

/// The first of `kernels`, fastest first, whose `runs_here` says so; the last one runs everywhere.
template <class Kernel>
[[nodiscard]] const Kernel& first_that_runs(std::span<const Kernel> kernels) {
  for (const Kernel& kernel : kernels) {
    if (kernel.runs_here()) return kernel;
  }
  return kernels.back();
}

}  // namespace casemate::kernels
