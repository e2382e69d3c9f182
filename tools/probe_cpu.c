/* Prints, one a line, the llama.cpp CMake options whose instructions really run here.
 *
 * CPUID is not enough: a virtual machine may announce an extension and trap on its instructions (AMX
 * tiles are the known case), so each feature is executed once in a child process and counts only if the
 * child ends well. AMX is never proposed. Used by tools/setup; on other processors it prints nothing and
 * llama.cpp is built for the plain architecture.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>

static volatile int sink;

__attribute__((target("sse4.2"))) static void run_sse42(void) { sink = (int)_mm_crc32_u32(1u, (unsigned)sink); }
__attribute__((target("avx"))) static void run_avx(void) {
  __m256 v = _mm256_add_ps(_mm256_set1_ps((float)sink), _mm256_set1_ps(1.0f));
  sink = (int)_mm_cvtss_f32(_mm256_castps256_ps128(v));
}
__attribute__((target("avx2"))) static void run_avx2(void) {
  __m256i v = _mm256_add_epi32(_mm256_set1_epi32(sink), _mm256_set1_epi32(1));
  sink = _mm256_extract_epi32(v, 0);
}
__attribute__((target("bmi2"))) static void run_bmi2(void) { sink = (int)_pext_u32((unsigned)sink, 0xffu); }
__attribute__((target("fma"))) static void run_fma(void) {
  __m256 v = _mm256_set1_ps((float)sink);
  sink = (int)_mm_cvtss_f32(_mm256_castps256_ps128(_mm256_fmadd_ps(v, v, v)));
}
__attribute__((target("f16c"))) static void run_f16c(void) {
  sink = (int)_mm_cvtss_f32(_mm_cvtph_ps(_mm_set1_epi16((short)sink)));
}
__attribute__((target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl"))) static void run_avx512(void) {
  __m512i v = _mm512_add_epi32(_mm512_set1_epi32(sink), _mm512_lzcnt_epi32(_mm512_set1_epi32(sink)));
  v = _mm512_add_epi8(v, _mm512_broadcast_i32x2(_mm_set1_epi32(sink)));
  sink = _mm512_reduce_add_epi32(v);
}
__attribute__((target("avx512f,avx512vbmi"))) static void run_vbmi(void) {
  __m512i v = _mm512_set1_epi32(sink);
  sink = _mm512_reduce_add_epi32(_mm512_permutexvar_epi8(v, v));
}
__attribute__((target("avx512f,avx512vnni"))) static void run_vnni(void) {
  __m512i v = _mm512_set1_epi32(sink);
  sink = _mm512_reduce_add_epi32(_mm512_dpbusd_epi32(v, v, v));
}
__attribute__((target("avx512f,avx512bf16"))) static void run_bf16(void) {
  __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps((float)sink), _mm512_set1_ps(1.0f));
  sink = (int)_mm512_reduce_add_ps(_mm512_dpbf16_ps(_mm512_setzero_ps(), b, b));
}

struct feature {
  const char* option;
  int announced;
  void (*run)(void);
};

static int runs(void (*run)(void)) {
  int status = 0;
  pid_t child = fork();
  if (child < 0) return 0;
  if (child == 0) {
    run();
    _exit(0);
  }
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void) {
  __builtin_cpu_init();
  const struct feature features[] = {
      {"GGML_SSE42", __builtin_cpu_supports("sse4.2"), run_sse42},
      {"GGML_AVX", __builtin_cpu_supports("avx"), run_avx},
      {"GGML_AVX2", __builtin_cpu_supports("avx2"), run_avx2},
      {"GGML_BMI2", __builtin_cpu_supports("bmi2"), run_bmi2},
      {"GGML_FMA", __builtin_cpu_supports("fma"), run_fma},
      /* GCC 12 has no name for f16c; every processor with AVX2 has it, and the child tells. */
      {"GGML_F16C", __builtin_cpu_supports("avx2"), run_f16c},
      {"GGML_AVX512", __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"), run_avx512},
      {"GGML_AVX512_VBMI", __builtin_cpu_supports("avx512vbmi"), run_vbmi},
      {"GGML_AVX512_VNNI", __builtin_cpu_supports("avx512vnni"), run_vnni},
      {"GGML_AVX512_BF16", __builtin_cpu_supports("avx512bf16"), run_bf16},
  };
  for (unsigned i = 0; i < sizeof features / sizeof features[0]; ++i) {
    int on = features[i].announced && runs(features[i].run);
    printf("-D%s=%s\n", features[i].option, on ? "ON" : "OFF");
  }
  return 0;
}
#else
int main(void) { return 0; }
#endif
