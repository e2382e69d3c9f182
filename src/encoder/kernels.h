// src/encoder/kernels.h
#pragma once

#include <cstddef>

namespace casemate::kernels {

/// Layer normalisation of each row of `x` [rows, width] in place: (x - mean) / sqrt(variance + epsilon) * gamma + beta.
/// Moments are taken in float with a second pass for the variance.
void layer_norm(float* x, std::size_t rows, std::size_t width, const float* gamma, const float* beta, float epsilon);

/// out = a + b + c, all of `width` values; `c` may be null.
void add_rows(const float* a, const float* b, const float* c, float* out, std::size_t width);

/// Floats of scratch that `attend` needs for a sequence of `length` tokens.
[[nodiscard]] std::size_t attention_scratch_floats(std::size_t length, std::size_t head_width);

/// Full (bidirectional) self-attention of one sequence, all heads.
///
/// `qkv` is [length, 3 * hidden]: queries, keys and values side by side, head after head inside each. `out` is
/// [length, hidden]. hidden = heads * head_width. Scores are scaled by 1/sqrt(head_width). A sequence's result depends
/// on that sequence only. `scratch` holds attention_scratch_floats() floats, 64-byte aligned.
void attend(const float* qkv, std::size_t length, std::size_t heads, std::size_t head_width, float* scratch,
            float* out);

/// out = mean of the `rows` rows of `x` [rows, width].
void mean_rows(const float* x, std::size_t rows, std::size_t width, float* out);

/// Name of the instruction set that runs here ("AVX3", "AVX2", ...).
[[nodiscard]] const char* instruction_set();

}  // namespace casemate::kernels
