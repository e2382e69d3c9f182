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

/// The gradient of layer_norm: on entry `gradient` [rows, width] is that of its output, on return that of its input.
/// `x` is what layer_norm was given.
void layer_norm_backward(const float* x, std::size_t rows, std::size_t width, const float* gamma, float epsilon,
                         float* gradient);

/// Floats of scratch that `attend_backward` needs for a sequence of `length` tokens.
[[nodiscard]] std::size_t attention_backward_scratch_floats(std::size_t length, std::size_t head_width);

/// The gradient of attend: from that of its output, `out_gradient` [length, hidden], to that of its input,
/// `qkv_gradient` [length, 3 * hidden]. Attention weights are computed anew, block by block. `presence` [length] has
/// added to it the derivative with respect to each key's weight before normalisation, at 1 (a key of weight 0 is as if
/// absent).
void attend_backward(const float* qkv, const float* out_gradient, std::size_t length, std::size_t heads,
                     std::size_t head_width, float* scratch, float* qkv_gradient, float* presence);

/// out = mean of the `rows` rows of `x` [rows, width].
void mean_rows(const float* x, std::size_t rows, std::size_t width, float* out);

/// Name of the instruction set that runs here ("AVX3", "AVX2", ...).
[[nodiscard]] const char* instruction_set();

}  // namespace casemate::kernels
