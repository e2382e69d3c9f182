// src/encoder/linear.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "casemate/core/status.h"
#include "casemate/encoder/encoder.h"
#include "encoder/fixed_product.h"

namespace casemate {

/// What a linear layer does to its output as it writes it.
enum class Epilogue : std::uint8_t { kNone, kGeluErf, kGeluTanh, kRelu, kAddToOutput };

/// Working memory of one thread. Grows to the largest layer's need and is reused.
class Scratch {
 public:
  [[nodiscard]] std::byte* reserve(std::size_t bytes) {
    if (bytes > bytes_.size()) bytes_.resize(bytes);
    return bytes_.data();
  }
  [[nodiscard]] kernels::FixedRows& fixed_rows() { return fixed_rows_; }

 private:
  std::vector<std::byte> bytes_;
  kernels::FixedRows fixed_rows_;
};

/// A dense layer y = x W^T + b on oneDNN's matmul, with the bias and activation fused, or in 16-bit fixed point on our
/// own product (fixed_product.h).
///
/// This class and ActivationLayer are the only places that know oneDNN, whose C++ interface differs between 2.x
/// and 3.x. Thread-safe; each call runs on the calling thread alone. A row of y depends on its row of x only, bit for
/// bit, whatever the other rows and however many (tests/encoder/linear_test.cpp).
class Linear {
 public:
  /// `weights` is row-major [out, in] (as checkpoints store them), `bias` has `out` values.
  /// Error: Model, with oneDNN's message.
  [[nodiscard]] static Result<Linear> create(std::span<const float> weights, std::span<const float> bias,
                                             std::size_t in, std::size_t out, Epilogue epilogue,
                                             Precision precision = Precision::kFloat32);
  /// The same layer without its activation; the weights are shared.
  [[nodiscard]] Linear without_activation() const;
  /// The layer's gradient: from that of y [rows, out] to that of x [rows, in], which is dy W. Holds its own copy of the
  /// weights, in float32 whatever the layer's precision. Error: Model.
  [[nodiscard]] Result<Linear> transposed(Epilogue epilogue) const;
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  /// Rows that buffers must hold for `rows` of work: the layer runs on multiples of `kRowBlock`.
  static constexpr std::size_t kRowBlock = 16;
  [[nodiscard]] static std::size_t padded_rows(std::size_t rows) {
    return (rows + kRowBlock - 1) / kRowBlock * kRowBlock;
  }

  /// `x` is [padded_rows(rows), in], `y` is [padded_rows(rows), out], both row-major and contiguous. Rows past `rows`
  /// may be computed too and mean nothing. Error: Model.
  [[nodiscard]] Status run(const float* x, float* y, std::size_t rows, Scratch& scratch) const;

 private:
  struct State;
  [[nodiscard]] Status run_fixed(const float* x, float* y, std::size_t rows, Scratch& scratch) const;
  explicit Linear(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// While one lives, oneDNN calls of this thread use this thread alone (Debian builds it on OpenMP).
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace casemate
