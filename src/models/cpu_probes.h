/* models/cpu_probes.h
 * The processor features that matter here, each with a function that executes it once. For C and C++: tools/probe_cpu.c
 * is compiled before anything else is there, and `casemate doctor` shows the same list.
 *
 * CPUID is not enough: a virtual machine may announce an extension and trap on its instructions (AMX tiles are the
 * known case). A feature counts only if a child process that executes it ends well.
 */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>

static volatile int cpu_probe_sink;

__attribute__((target("sse4.2"))) static void cpu_probe_sse42(void) {
  cpu_probe_sink = (int)_mm_crc32_u32(1u, (unsigned)cpu_probe_sink);
}
__attribute__((target("avx"))) static void cpu_probe_avx(void) {
  __m256 v = _mm256_add_ps(_mm256_set1_ps((float)cpu_probe_sink), _mm256_set1_ps(1.0f));
  cpu_probe_sink = (int)_mm_cvtss_f32(_mm256_castps256_ps128(v));
}
__attribute__((target("avx2"))) static void cpu_probe_avx2(void) {
  __m256i v = _mm256_add_epi32(_mm256_set1_epi32(cpu_probe_sink), _mm256_set1_epi32(1));
  cpu_probe_sink = _mm256_extract_epi32(v, 0);
}
__attribute__((target("bmi2"))) static void cpu_probe_bmi2(void) {
  cpu_probe_sink = (int)_pext_u32((unsigned)cpu_probe_sink, 0xffu);
}
__attribute__((target("fma"))) static void cpu_probe_fma(void) {
  __m256 v = _mm256_set1_ps((float)cpu_probe_sink);
  cpu_probe_sink = (int)_mm_cvtss_f32(_mm256_castps256_ps128(_mm256_fmadd_ps(v, v, v)));
}
__attribute__((target("f16c"))) static void cpu_probe_f16c(void) {
  cpu_probe_sink = (int)_mm_cvtss_f32(_mm_cvtph_ps(_mm_set1_epi16((short)cpu_probe_sink)));
}
__attribute__((target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl"))) static void cpu_probe_avx512(void) {
  __m512i v =
      _mm512_add_epi32(_mm512_set1_epi32(cpu_probe_sink), _mm512_lzcnt_epi32(_mm512_set1_epi32(cpu_probe_sink)));
  v = _mm512_add_epi8(v, _mm512_broadcast_i32x2(_mm_set1_epi32(cpu_probe_sink)));
  cpu_probe_sink = _mm512_reduce_add_epi32(v);
}
__attribute__((target("avx512f,avx512vbmi"))) static void cpu_probe_vbmi(void) {
  __m512i v = _mm512_set1_epi32(cpu_probe_sink);
  cpu_probe_sink = _mm512_reduce_add_epi32(_mm512_permutexvar_epi8(v, v));
}
__attribute__((target("avx512f,avx512vnni"))) static void cpu_probe_vnni(void) {
  __m512i v = _mm512_set1_epi32(cpu_probe_sink);
  cpu_probe_sink = _mm512_reduce_add_epi32(_mm512_dpbusd_epi32(v, v, v));
}
__attribute__((target("avx512f,avx512bf16"))) static void cpu_probe_bf16(void) {
  __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps((float)cpu_probe_sink), _mm512_set1_ps(1.0f));
  cpu_probe_sink = (int)_mm512_reduce_add_ps(_mm512_dpbf16_ps(_mm512_setzero_ps(), b, b));
}

/* One tile of 1 row of 64 bytes, loaded and cleared. The system gives tiles only to processes that ask. */
static void cpu_probe_amx(void) {
  static unsigned char config[64] __attribute__((aligned(64)));
  static unsigned char row[64] __attribute__((aligned(64)));
  const long request_permission = 0x1023, tile_data = 18, row_bytes = 64;
  if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0) _exit(1);
  config[0] = 1;   /* palette */
  config[16] = 64; /* bytes a row of tile 0 */
  config[48] = 1;  /* rows of tile 0 */
  __asm__ volatile("ldtilecfg %0" ::"m"(config));
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm0" ::"r"(row), "r"(row_bytes) : "memory");
  __asm__ volatile("tilerelease");
}

static int cpu_announces_amx(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & (1u << 24)) != 0;
}

struct cpu_probe {
  const char* name;
  const char* llama_option; /* of llama.cpp's build; empty: never proposed */
  int announced;
  void (*run)(void);
};

enum { kCpuProbes = 11 };

static void list_cpu_probes(struct cpu_probe out[kCpuProbes]) {
  __builtin_cpu_init();
  const struct cpu_probe probes[kCpuProbes] = {
      {"sse4.2", "GGML_SSE42", __builtin_cpu_supports("sse4.2"), cpu_probe_sse42},
      {"avx", "GGML_AVX", __builtin_cpu_supports("avx"), cpu_probe_avx},
      {"avx2", "GGML_AVX2", __builtin_cpu_supports("avx2"), cpu_probe_avx2},
      {"bmi2", "GGML_BMI2", __builtin_cpu_supports("bmi2"), cpu_probe_bmi2},
      {"fma", "GGML_FMA", __builtin_cpu_supports("fma"), cpu_probe_fma},
      /* GCC 12 has no name for f16c; every processor with AVX2 has it, and the child tells. */
      {"f16c", "GGML_F16C", __builtin_cpu_supports("avx2"), cpu_probe_f16c},
      {"avx512", "GGML_AVX512", __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"),
       cpu_probe_avx512},
      {"avx512-vbmi", "GGML_AVX512_VBMI", __builtin_cpu_supports("avx512vbmi"), cpu_probe_vbmi},
      {"avx512-vnni", "GGML_AVX512_VNNI", __builtin_cpu_supports("avx512vnni"), cpu_probe_vnni},
      {"avx512-bf16", "GGML_AVX512_BF16", __builtin_cpu_supports("avx512bf16"), cpu_probe_bf16},
      {"amx", "", cpu_announces_amx(), cpu_probe_amx},
  };
  for (int i = 0; i < kCpuProbes; ++i) out[i] = probes[i];
}

/* Async-signal-safe between fork and exit, so it may be called in a program with threads. */
static int cpu_probe_runs(const struct cpu_probe* probe) {
  int status = 0;
  const pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGILL, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    probe->run();
    _exit(0);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif
