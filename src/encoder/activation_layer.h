// src/encoder/activation_layer.h
#pragma once

#include <cstddef>
#include <memory>

#include "casemate/core/status.h"
#include "encoder/linear.h"

namespace casemate {

/// An activation by itself, and its gradient, on oneDNN: the same function, bit for bit, as the one that Linear fuses
/// (tests/encoder/linear_test.cpp). Thread-safe; runs on the calling thread alone.
class ActivationLayer {
 public:
  /// Error: Model; InvalidArgument for an epilogue that is no activation.
  [[nodiscard]] static Result<ActivationLayer> create(Epilogue activation, std::size_t width);
  ActivationLayer(ActivationLayer&&) noexcept;
  ActivationLayer& operator=(ActivationLayer&&) noexcept;
  ~ActivationLayer();

  /// y = f(x), both [Linear::padded_rows(rows), width]; rows past `rows` are computed too. Error: Model.
  [[nodiscard]] Status run(const float* x, float* y, std::size_t rows, Scratch& scratch) const;
  /// gradient *= f'(x), both [Linear::padded_rows(rows), width]. Error: Model.
  [[nodiscard]] Status run_backward(const float* x, float* gradient, std::size_t rows, Scratch& scratch) const;

 private:
  struct State;
  explicit ActivationLayer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace casemate
